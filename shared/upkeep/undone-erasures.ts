import { statSync } from 'node:fs';
import { eq, sql } from 'drizzle-orm';
import type { Actor } from '../actor.ts';
import { type Clock, systemClock } from '../clock.ts';
import { hasTable } from '../db/catalog.ts';
import { openBare, prepareWrites, type Sqlite } from '../db/connect.ts';
import { migrate } from '../db/migrate.ts';
import { erasedProfiles, profiles } from '../db/schema/profiles.ts';
import { withTables } from '../db/tables.ts';
import { eraseProfiles } from '../erasure/erase-profile.ts';

/**
 * A profile in a backup that has been erased from the database: its UID and the time of the erasure, in milliseconds
 * since 1970.
 */
export type UndoneErasure = { uid: number; atMs: number };

/** The times of the erasures in the last 40 days, by UID. */
export type ErasedProfiles = ReadonlyMap<number, number>;

/** The latest time that a JavaScript Date can hold; a file may contain any number. */
const LATEST_MS = 8.64e15;

/** Reads which profiles were erased from a database. */
export function readErasedProfiles(sqlite: Sqlite): ErasedProfiles {
  if (!hasTable(sqlite, 'erased_profiles')) return new Map();
  const rows = withTables({ $client: sqlite }).select().from(erasedProfiles).all();
  return new Map(rows.map(({ id, at }) => [id, Math.min(at, LATEST_MS)]));
}

/** Like {@link readErasedProfiles}, for the database at a path; null if it is missing or unreadable. */
export function readErasedProfilesAt(path: string): ErasedProfiles | null {
  try {
    // The files beside the database must stay unchanged: its log may be needed, and a -shm file would mark it as in
    // use.
    const hasLog = (statSync(`${path}-wal`, { throwIfNoEntry: false })?.size ?? 0) > 0;
    using sqlite = openBare(path, hasLog ? 'read' : 'immutable');
    return readErasedProfiles(sqlite);
  } catch {
    // The code that replaces the database reports the problem.
    return null;
  }
}

/**
 * The erasures that restoring a backup would undo, earliest first: the backup contains the profile, but neither this
 * erasure nor a later one. Erasures that the backup dates in the future are ignored.
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
 * Repeats these erasures in the copy of a backup, after upgrading its schema to the newest. They keep their times, so
 * that importing a file with older data does not restore the profiles. Throws SQLite's errors, `refused` and `busy`.
 */
export function eraseAgain(
  copy: Sqlite,
  undone: readonly UndoneErasure[],
  { by, clock }: { by: Actor; clock: Clock },
): void {
  if (undone.length === 0) return;
  migrate(copy, copy.filename);
  prepareWrites(copy);
  eraseProfiles({ db: withTables({ $client: copy }), clock }, undone, by);
}
