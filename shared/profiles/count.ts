import { and, asc, count, eq, gt, max, sql } from 'drizzle-orm';
import type { Clock } from '../clock.ts';
import type { Opened } from '../db/connect.ts';
import { guardDatabase } from '../db/faults.ts';
import { keepQuery } from '../db/prepared-query.ts';
import { profileNames } from '../db/schema/profiles.ts';
import { withTables } from '../db/tables.ts';

/** How long a count is returned again without counting. */
const KEPT_MS = 60_000;

/** The number of names counted in one piece, which takes a fraction of a millisecond. */
const PIECE_NAMES = 5_000;

// The index profile_names_profile alone answers this. Every profile has one name at position 0, its username.
const countPiece = keepQuery((db) => {
  const { profileId, position } = profileNames;
  const piece = db
    .select({ id: profileId })
    .from(profileNames)
    .where(and(gt(profileId, sql.placeholder('after')), eq(position, 0)))
    .orderBy(asc(profileId))
    .limit(PIECE_NAMES)
    .as('piece');
  return db
    .select({ count: count(), last: max(piece.id) })
    .from(piece)
    .prepare();
});

/**
 * Prepares counting all profiles for a running server. A million take about 50 ms, so they are counted at most once a
 * minute, and in pieces with requests served in between; a count may miss changes made in between. Rejects with `busy`.
 */
export function createProfileCounter({ db, clock }: { db: Opened; clock: Clock }): () => Promise<number> {
  let known: { count: number; atMs: number } | null = null;
  let running: Promise<number> | null = null;
  const countAgain = async () => {
    const atMs = clock.monotonicMs();
    const count = await countInPieces(db);
    known = { count, atMs };
    return count;
  };
  return async () => {
    if (known !== null && clock.monotonicMs() - known.atMs < KEPT_MS) return known.count;
    running ??= countAgain().finally(() => {
      running = null;
    });
    return running;
  };
}

async function countInPieces(opened: Opened): Promise<number> {
  const db = withTables(opened);
  let total = 0;
  for (let after: number | null = 0; after !== null; ) {
    const values: { after: number } = { after };
    const piece = guardDatabase(db.$client.filename, () => countPiece(db).get(values));
    total += piece?.count ?? 0;
    after = piece?.last ?? null;
    await new Promise((resolve) => setImmediate(resolve));
  }
  return total;
}
