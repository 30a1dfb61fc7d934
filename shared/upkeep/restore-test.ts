import { existsSync, mkdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { guardDatabase } from '../db/faults.ts';
import { openDatabase } from '../db-files/open.ts';
import { withUnfinished } from '../db-files/unfinished.ts';
import { type Checked, type CheckStep, checkDatabase } from './check.ts';
import { recordChore } from './chore-times.ts';
import { copyBackup, verifyBackup } from './restore.ts';

/** The steps of a test restore, for progress messages. */
export type RestoreTestStep = 'verify' | 'copy' | 'upgrade' | CheckStep;

/**
 * Restores a backup to a new folder in the system's temporary folder (`TMPDIR`), upgrades its schema as `serve` would,
 * checks it as `db check` does, and removes the folder. If no fault was found and there is a database at
 * `databasePath`, the time is recorded beside it. The returned `schema` is the backup's, before the upgrade. Throws
 * `refused` for a file that is missing, damaged, not a database of this program or of a newer schema, and if the
 * temporary folder has too little room.
 */
export function testRestore(databasePath: string, file: string, onStep: (step: RestoreTestStep) => void = () => {}) {
  return withUnfinished(databasePath, join(tmpdir(), 'profile-lookup-restore'), (folder) => {
    guardDatabase(tmpdir(), () => mkdirSync(folder, { mode: 0o700 }));
    const scratch = join(folder, 'profiles.db');
    return guardDatabase(scratch, () => {
      onStep('verify');
      const { schema } = verifyBackup(file);
      onStep('copy');
      copyBackup(file, scratch);
      onStep('upgrade');
      const checked = checkAndClose(scratch, onStep);
      const isNoted = checked.faults.length === 0 && existsSync(databasePath);
      return { ...checked, schema, warning: isNoted ? recordChore(databasePath, 'restore-test', file) : null };
    });
  });
}

function checkAndClose(path: string, onStep: (step: CheckStep) => void): Checked {
  const db = openDatabase(path, 'serve');
  using _ = db.$client;
  return checkDatabase(db, onStep);
}
