import { statSync } from 'node:fs';
import { eq, sql } from 'drizzle-orm';
import type { Actor } from '../actor.ts';
import { type Clock, systemClock } from '../clock.ts';
import { hasTable } from '../db/catalog.ts';
import { openBare, type Sqlite } from '../db/connect.ts';
import { migrate } from '../db/migrate.ts';
import { erasedProfiles, profiles } from '../db/schema/profiles.ts';
import { withTables } from '../db/tables.ts';
import { eraseProfiles } from '../erasure/erase-profile.ts';

/** A profile that a backup has and the database has erased: its UID, and when that was, in milliseconds since 1970. */
export type UndoneErasure = { uid: number; atMs: number };

/** The profiles that a database has erased in the last 40 days, by UID. */
export type ErasedProfiles = ReadonlyMap<number, number>;

/** The latest time that there is in JavaScript: a file may hold any number. */
const LATEST_MS = 8.64e15;

/** Reads which profiles a database has erased. Throws what SQLite throws. */
export function readErasedProfiles(sqlite: Sqlite): ErasedProfiles {
  if (!hasTable(sqlite, 'erased_profiles')) return new Map();
  const rows = withTables({ $client: sqlite }).select().from(erasedProfiles).all();
  return new Map(rows.map(({ id, at }) => [id, Math.min(at, LATEST_MS)]));
}

/** The same of the database at a path; null where there is none, or it can't be read. */
export function readErasedProfilesAt(path: string): ErasedProfiles | null {
  try {
    // Nothing beside the database may change: its log may be needed, and by a -shm file it would count as in use.
    const hasLog = (statSync(`${path}-wal`, { throwIfNoEntry: false })?.size ?? 0) > 0;
    const sqlite = openBare(path, hasLog ? 'read' : 'immutable');
    try {
      return readErasedProfiles(sqlite);
    } finally {
      sqlite.close();
    }
  } catch {
    // Whoever replaces the database says what is wrong with it.
    return null;
  }
}

/**
 * Which of these erasures a backup undoes: it has the profile and not the erasure, nor a later one; one in the future counts as
 * none. The earliest come first. Throws what SQLite throws.
 */
export function undoneErasures(backup: Sqlite, erased: ErasedProfiles): UndoneErasure[] {
  const nowMs = systemClock.nowMs();
  const known = new Map([...readErasedProfiles(backup)].filter(([, atMs]) => atMs <= nowMs));
  const find = withTables({ $client: backup })
    .select({ id: profiles.id })
    .from(profiles)
    .where(eq(profiles.id, sql.placeholder('uid')))
    .prepare();
  return [...erased]
    .map(([uid, atMs]) => ({ uid, atMs }))
    .filter(({ uid, atMs }) => (known.get(uid) ?? 0) < atMs && find.get({ uid }) !== undefined)
    .sort((a, b) => a.atMs - b.atMs || a.uid - b.uid);
}

/**
 * Carries these erasures out in the copy of a backup, which gets the newest schema for that. They keep their times, so that
 * a file which was read before does not bring the profiles back. Throws what SQLite throws, and `refused` and `busy`.
 */
export function eraseAgain(
  copy: Sqlite,
  undone: readonly UndoneErasure[],
  { by, clock }: { by: Actor; clock: Clock },
): void {
  if (undone.length === 0) return;
  migrate(copy, copy.filename);
  copy.run('PRAGMA foreign_keys = ON');
  copy.run('PRAGMA secure_delete = ON');
  eraseProfiles({ db: withTables({ $client: copy }), clock }, undone, by);
}
