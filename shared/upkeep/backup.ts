import type { Db } from '../db/connect.ts';
import { copyDatabase, type Verified } from '../db-files/snapshot.ts';
import { noteDone } from './chore-times.ts';

/**
 * Backs the database up to a new file while others go on using it, and notes when. Throws what {@link copyDatabase}
 * throws. `warning` is a sentence where the note could not be written; the backup is there all the same.
 */
export function backupDatabase(
  db: Db,
  file: string,
  onStep: (step: 'copy' | 'verify') => void = () => {},
): Verified & { warning: string | null } {
  const verified = copyDatabase(db.$client, file, onStep);
  return { ...verified, warning: noteDone(db.$client.filename, 'backup', file) };
}
