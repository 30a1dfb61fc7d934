import { readdirSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { DAY_MS, isoTime } from '../clock.ts';
import type { Config } from '../config/config.ts';
import type { Opened } from '../db/connect.ts';
import { readErasures } from '../db/erasures.ts';
import { guardDatabase } from '../db/faults.ts';
import { realPath } from '../db/real-path.ts';
import { roomSentence, vacuumRoom } from '../db-files/vacuum.ts';

/**
 * The remains of erased profiles: in the database file until it is vacuumed, and in places that erasures do not reach.
 */
export type ErasureStatus = {
  /** Since when the file may contain copies of erased text (ISO 8601); null if it contains none. */
  tracesSince: string | null;
  vacuumedAt: string | null;
  /** Databases that `db restore` or an upgrade kept beside this one. */
  keptCopies: string[];
  /** The folder that mails are written to; null if they are sent, or `MAIL_URL` is not set. */
  mailFolder: string | null;
};

/** A running server vacuums 23 hours after the last vacuum, and waits for imports. */
const PATIENCE_MS = DAY_MS;

/**
 * Reads the status from a database of the newest schema, the names of the files beside it, and the configuration.
 * Throws `busy`.
 */
export function readErasureStatus(db: Opened, { mail }: Pick<Config, 'mail'>): ErasureStatus {
  const path = db.$client.filename;
  const { tracesSinceMs, vacuumedAtMs } = guardDatabase(path, () => readErasures(db.$client));
  return {
    tracesSince: tracesSinceMs === null ? null : isoTime(tracesSinceMs),
    vacuumedAt: vacuumedAtMs === null ? null : isoTime(vacuumedAtMs),
    keptCopies: keptCopies(realPath(path)),
    mailFolder: mail?.kind === 'folder' ? mail.folder : null,
  };
}

/** Warnings as whole sentences, if copies of erased text remain for too long or there is no room to vacuum. */
export function erasureWarnings({ tracesSince }: ErasureStatus, databasePath: string, nowMs: number): string[] {
  if (tracesSince === null) return [];
  const room = vacuumRoom(databasePath);
  if (room.freeBytes < room.neededBytes) return [`Erased text can't be vacuumed. ${roomSentence(room)}`];
  if (nowMs - Date.parse(tracesSince) < PATIENCE_MS) return [];
  return [`The database file may have contained erased text since ${tracesSince}; "profilectl db vacuum" removes it.`];
}

function keptCopies(path: string): string[] {
  const kinds = ['before-restore', 'before-schema'].map((kind) => `${basename(path)}.${kind}-`);
  return readdirSync(dirname(path))
    .filter((name) => kinds.some((kind) => name.startsWith(kind)) && !name.endsWith('.unfinished'))
    .sort()
    .map((name) => join(dirname(path), name));
}
