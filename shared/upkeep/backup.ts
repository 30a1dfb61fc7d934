import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { isoTime, systemClock } from '../clock.ts';
import type { Db } from '../db/connect.ts';
import { realPath } from '../db/disk.ts';
import { copyDatabase, giveToOwnerOf, type Verified } from '../db/snapshot.ts';

/** When the database was last backed up, and to where; kept in a small file beside it for whoever asks how things are. */
export type LastBackup = { at: string; file: string };

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
  const path = notePath(db.$client.filename);
  const unfinished = `${path}.unfinished`;
  try {
    const note: LastBackup = { at: isoTime(systemClock.nowMs()), file: resolve(file) };
    rmSync(unfinished, { force: true });
    writeFileSync(unfinished, `${JSON.stringify(note)}\n`, { mode: 0o600, flag: 'wx' });
    giveToOwnerOf(db.$client.filename, unfinished);
    renameSync(unfinished, path);
    return { ...verified, warning: null };
  } catch {
    return { ...verified, warning: `The time of this backup could not be noted in ${path}.` };
  }
}

/** The last backup that was made with this program, or null where none is known. */
export function readLastBackup(databasePath: string): LastBackup | null {
  try {
    const note = JSON.parse(readFileSync(notePath(databasePath), 'utf8')) as Partial<LastBackup>;
    return typeof note.at === 'string' && typeof note.file === 'string' ? { at: note.at, file: note.file } : null;
  } catch {
    return null;
  }
}

function notePath(databasePath: string): string {
  return `${realPath(databasePath)}.last-backup`;
}
