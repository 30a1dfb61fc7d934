import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { isoTime, systemClock } from '../clock.ts';
import { giveToOwnerOf } from '../db/owner.ts';
import { realPath } from '../db/real-path.ts';

/** A chore whose last success is recorded in a small file beside the database, such as `<database>.last-backup`. */
export type Chore = 'backup' | 'restore-test';

/** When a chore last succeeded, and with which file. */
export type LastDone = { at: string; file: string };

/**
 * Records that a chore has just succeeded. Returns null, or a sentence if that could not be recorded. Never throws,
 * since the chore itself is done.
 */
export function recordChore(databasePath: string, chore: Chore, file: string): string | null {
  const path = notePath(databasePath, chore);
  const unfinished = `${path}.unfinished`;
  try {
    const note: LastDone = { at: isoTime(systemClock.nowMs()), file: resolve(file) };
    rmSync(unfinished, { force: true });
    writeFileSync(unfinished, `${JSON.stringify(note)}\n`, { mode: 0o600, flag: 'wx' });
    giveToOwnerOf(databasePath, unfinished);
    renameSync(unfinished, path);
    return null;
  } catch {
    return `The time of this ${chore.replace('-', ' ')} could not be recorded in ${path}.`;
  }
}

/** When this chore last succeeded for this database; null if unknown. */
export function readLastDone(databasePath: string, chore: Chore): LastDone | null {
  try {
    const note = JSON.parse(readFileSync(notePath(databasePath, chore), 'utf8')) as Partial<LastDone>;
    return typeof note.at === 'string' && typeof note.file === 'string' ? { at: note.at, file: note.file } : null;
  } catch {
    return null;
  }
}

/** The seconds since this chore last succeeded; 0 if the recorded time is in the future, null if unknown. */
export function secondsSince(databasePath: string, chore: Chore, nowMs: number): number | null {
  const doneAtMs = Date.parse(readLastDone(databasePath, chore)?.at ?? '');
  return Number.isNaN(doneAtMs) ? null : Math.max(0, nowMs - doneAtMs) / 1000;
}

function notePath(databasePath: string, chore: Chore): string {
  return `${realPath(databasePath)}.last-${chore}`;
}
