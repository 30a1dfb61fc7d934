import type { Sqlite } from '../../db/connect.ts';

/**
 * The time of a transaction, and the one at which an import's data was read (`--as-of`), null where nobody said; both in
 * milliseconds since 1970.
 */
export type Times = { nowMs: number; asOfMs: number | null };

/**
 * Whether what was written at a time is newer than an import's data. A time after the present one is of a clock that was
 * ahead, and counts as none.
 */
export function isNewer(writtenAtMs: number, { nowMs, asOfMs }: Times): boolean {
  return asOfMs !== null && writtenAtMs > asOfMs && writtenAtMs <= nowMs;
}

/** The time that a transaction stamps what it writes with: lines count as written when their data was read. */
export function stampOf({ nowMs, asOfMs }: Times): number {
  return asOfMs ?? nowMs;
}

/** Finds out whether profiles were written or erased after an import's data was read. Ask inside a transaction. */
export type NewerCheck = {
  /** Whether any profile was erased since; mostly none was, and then single ones need not be looked up. */
  anyErased: (times: Times) => boolean;
  /** Whether the profile with this id was erased since, be it here again or not. */
  isErased: (id: number, times: Times) => boolean;
  /** Whether the profile with this id is here and was written since. */
  isWritten: (id: number, times: Times) => boolean;
};

/** Prepares the statements. */
export function createNewerCheck(sqlite: Sqlite): NewerCheck {
  const anyErased = sqlite.prepare('SELECT 1 FROM erased_profiles WHERE at > ? AND at <= ? LIMIT 1');
  const erasedAt = sqlite.prepare<{ at: number }, [number]>('SELECT at FROM erased_profiles WHERE id = ?');
  const writtenAt = sqlite.prepare<{ at: number }, [number]>('SELECT written_at AS at FROM profiles WHERE id = ?');
  return {
    anyErased: ({ nowMs, asOfMs }) => asOfMs !== null && anyErased.get(asOfMs, nowMs) !== null,
    isErased: (id, times) => isNewer(erasedAt.get(id)?.at ?? 0, times),
    isWritten: (id, times) => times.asOfMs !== null && isNewer(writtenAt.get(id)?.at ?? 0, times),
  };
}
