import type { Db } from '../db/connect.ts';
import { copyDatabase, type Verified } from '../db-files/snapshot.ts';
import { recordBackup } from './last-backup.ts';

/**
 * Backs the database up to a new file while it is in use, and records the time. Throws the errors of {@link
 * copyDatabase}. `warning` is a sentence if the time could not be recorded; the backup is valid all the same.
 */
export function backupDatabase(
  db: Db,
  file: string,
  onStep: (step: 'copy' | 'verify') => void = () => {},
): Verified & { warning: string | null } {
  const verified = copyDatabase(db.$client, file, onStep);
  return { ...verified, warning: recordBackup(db.$client.filename, file) };
}
