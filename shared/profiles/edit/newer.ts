import { and, eq, gt, lte, sql } from 'drizzle-orm';
import type { Db } from '../../db/connect.ts';
import { erasedProfiles, profiles } from '../../db/schema/profiles.ts';

/**
 * The time of a transaction, and the time at which an import's data was read (`--as-of`, null without it), in
 * milliseconds since 1970.
 */
export type Times = { nowMs: number; asOfMs: number | null };

/**
 * Whether a row written at this time is newer than an import's data. A time in the future comes from a clock that was
 * ahead, and is ignored.
 */
export function isNewer(writtenAtMs: number, { nowMs, asOfMs }: Times): boolean {
  return asOfMs !== null && writtenAtMs > asOfMs && writtenAtMs <= nowMs;
}

/** The time to store with rows that a transaction writes: when their data was read if known, otherwise now. */
export function stampOf({ nowMs, asOfMs }: Times): number {
  return asOfMs ?? nowMs;
}

/** Checks whether profiles were written or erased after an import's data was read. Call it inside a transaction. */
export type NewerCheck = {
  /** Whether any profile was erased since. Usually none was, and single profiles need not be looked up. */
  anyErased: (times: Times) => boolean;
  /** Whether the profile with this id was erased since, even if it exists again. */
  isErased: (id: number, times: Times) => boolean;
  isWritten: (id: number, times: Times) => boolean;
};

/** Prepares the statements of the check. */
export function createNewerCheck(db: Db): NewerCheck {
  const [asOf, now, id] = [sql.placeholder('asOfMs'), sql.placeholder('nowMs'), sql.placeholder('id')];
  const { at } = erasedProfiles;
  const anyErased = db
    .select({ at })
    .from(erasedProfiles)
    .where(and(gt(at, asOf), lte(at, now)))
    .limit(1)
    .prepare();
  const erasedAt = db.select({ at }).from(erasedProfiles).where(eq(erasedProfiles.id, id)).prepare();
  const writtenAt = db.select({ at: profiles.writtenAt }).from(profiles).where(eq(profiles.id, id)).prepare();
  return {
    anyErased: (times) => times.asOfMs !== null && anyErased.get(times) !== undefined,
    isErased: (id, times) => isNewer(erasedAt.get({ id })?.at ?? 0, times),
    isWritten: (id, times) => times.asOfMs !== null && isNewer(writtenAt.get({ id })?.at ?? 0, times),
  };
}
