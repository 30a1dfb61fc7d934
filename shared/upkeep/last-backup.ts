import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { isoTime, systemClock } from '../clock.ts';
import { giveToOwnerOf } from '../db/owner.ts';
import { realPath } from '../db/real-path.ts';

/** When the last backup was made, and to which file; recorded in `<database>.last-backup`. */
export type LastBackup = { at: string; file: string };

/**
 * Records that a backup has just been made. Returns null, or a sentence if that could not be recorded. Never throws, since the
 * backup itself is done.
 */
export function recordBackup(databasePath: string, file: string): string | null {
  const path = notePath(databasePath);
  const unfinished = `${path}.unfinished`;
  try {
    const note: LastBackup = { at: isoTime(systemClock.nowMs()), file: resolve(file) };
    rmSync(unfinished, { force: true });
    writeFileSync(unfinished, `${JSON.stringify(note)}\n`, { mode: 0o600, flag: 'wx' });
    giveToOwnerOf(databasePath, unfinished);
    renameSync(unfinished, path);
    return null;
  } catch {
    return `The time of this backup could not be recorded in ${path}.`;
  }
}

/** The last backup of this database; null if unknown. */
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
