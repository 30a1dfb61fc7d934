import type { Clock } from '../../clock.ts';
import type { Opened } from '../../db/connect.ts';
import { guardDatabase } from '../../db/faults.ts';

/** How long a number is given again without counting. */
const KEPT_MS = 60_000;

/** Names that are read in one piece: a fraction of a millisecond. */
const PIECE = 5_000;

// The index profile_names_profile answers this alone. Every profile has one name at position 0, its username.
const COUNT_PIECE = `
  SELECT count(*) AS count, max(profile_id) AS last FROM (
    SELECT profile_id FROM profile_names WHERE profile_id > ? AND position = 0 ORDER BY profile_id LIMIT ${PIECE})`;

/**
 * Prepares counting all profiles for a running server. A million take about 50 ms, so they are counted at most once a
 * minute, and in pieces between which requests are answered; what changes meanwhile may be missed by that count. Rejects
 * with `busy`.
 */
export function createProfileCounter({ db, clock }: { db: Opened; clock: Clock }): () => Promise<number> {
  let known: { count: number; atMs: number } | null = null;
  let running: Promise<number> | null = null;
  const countAnew = async () => {
    const atMs = clock.monotonicMs();
    const count = await countInPieces(db);
    known = { count, atMs };
    return count;
  };
  return async () => {
    if (known !== null && clock.monotonicMs() - known.atMs < KEPT_MS) return known.count;
    running ??= countAnew().finally(() => {
      running = null;
    });
    return running;
  };
}

async function countInPieces({ $client: sqlite }: Opened): Promise<number> {
  let count = 0;
  for (let last: number | null = 0; last !== null; ) {
    const after: number = last;
    const piece = guardDatabase(sqlite.filename, () => sqlite.query(COUNT_PIECE).get(after)) as {
      count: number;
      last: number | null;
    };
    count += piece.count;
    last = piece.last;
    await new Promise((resolve) => setImmediate(resolve));
  }
  return count;
}
