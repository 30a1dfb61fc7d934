import { openBare, type Sqlite } from '../../db/connect.ts';
import { refitRings } from '../account.ts';
import type { RateLimit } from '../rate-limit.ts';
import { quantise, type Ring, remainingAt, waitMs } from '../ring.ts';
import { type LogRow, readRow, type SavedAccount } from './row.ts';
import { APPLICATION_ID, quotaPath } from './store.ts';

// What is left of limits, for pages: read from the quota file, so that nobody asks the threads that answer lookups. They
// save every 0.8 s, so the latest second of spending may be missing.

/** Where a rate limit stands. Moments are milliseconds since 1970; both are null where nothing of it is spent. */
export type Level = RateLimit & {
  remaining: number;
  /** When the oldest request leaves the window, so that one more is admitted than now. */
  moreAtMs: number | null;
  /** When the whole quota is there again, if nothing is spent until then. */
  fullAtMs: number | null;
};

/** The part of a key that its levels depend on. */
type Limited = { identifier: string; rateLimits: readonly RateLimit[] };

/** How long a page waits for a lock of the file, which no reader needs as a rule. */
const BUSY_TIMEOUT_MS = 50;

/**
 * Reads where the limits of these keys stand, by identifier, each in the order of its limits. Null where the quota file of
 * this main database is not there or can't be read: then nobody but the server knows.
 */
export function readLevels(
  databasePath: string,
  keys: readonly Limited[],
  nowMs: number,
): ReadonlyMap<string, readonly Level[]> | null {
  try {
    const sqlite = openBare(quotaPath(databasePath), 'read');
    try {
      return levelsIn(sqlite, keys, nowMs);
    } finally {
      sqlite.close();
    }
  } catch {
    return null;
  }
}

function levelsIn(sqlite: Sqlite, keys: readonly Limited[], nowMs: number): Map<string, Level[]> | null {
  sqlite.run(`PRAGMA busy_timeout = ${BUSY_TIMEOUT_MS}`);
  const id = sqlite.prepare('PRAGMA application_id').get() as { application_id: number };
  if (id.application_id !== APPLICATION_ID) return null;
  const newest = sqlite.prepare<{ time: number | null }, []>('SELECT max(time) AS time FROM log').get();
  // As limits count it: never before what is stored.
  const now = quantise(Math.max(nowMs, newest?.time ?? 0));
  // Most rows are about others; their stamps are not even read.
  const rows = sqlite.prepare<LogRow, [string]>('SELECT * FROM log WHERE instr(identifiers, ?) > 0 ORDER BY seq');
  return new Map(
    keys.map(({ identifier, rateLimits }) => {
      const accounts = new Map<string, SavedAccount>();
      for (const row of rows.iterate(identifier)) readRow(row, accounts, identifier);
      const rings = refitRings(rateLimits, accounts.get(identifier)?.rings ?? [], now);
      return [identifier, rings.map((ring) => levelOf(ring, now))];
    }),
  );
}

function levelOf(ring: Ring, now: number): Level {
  const { quota, windowMs } = ring;
  const remaining = remainingAt(ring, now);
  const at = (count: number) => (remaining === quota ? null : now + waitMs(ring, now, count));
  return { quota, windowSeconds: windowMs / 1000, remaining, moreAtMs: at(remaining + 1), fullAtMs: at(quota) };
}
