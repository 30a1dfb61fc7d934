import { and, asc, count, eq, gt, max, sql } from 'drizzle-orm';
import type { Clock } from '../clock.ts';
import type { Opened } from '../db/connect.ts';
import { guardDatabase } from '../db/faults.ts';
import { keepQuery } from '../db/prepared-query.ts';
import { profileNames } from '../db/schema/profiles.ts';
import { withTables } from '../db/tables.ts';

/** How long a number is given again without counting. */
const KEPT_MS = 60_000;

/** Names that are read in one piece: a fraction of a millisecond. */
const PIECE = 5_000;

// The index profile_names_profile answers this alone. Every profile has one name at position 0, its username.
const countPiece = keepQuery((db) => {
  const { profileId, position } = profileNames;
  const piece = db
    .select({ id: profileId })
    .from(profileNames)
    .where(and(gt(profileId, sql.placeholder('after')), eq(position, 0)))
    .orderBy(asc(profileId))
    .limit(PIECE)
    .as('piece');
  return db
    .select({ count: count(), last: max(piece.id) })
    .from(piece)
    .prepare();
});

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

async function countInPieces(opened: Opened): Promise<number> {
  const db = withTables(opened);
  let total = 0;
  for (let after: number | null = 0; after !== null; ) {
    const asked: { after: number } = { after };
    const piece = guardDatabase(db.$client.filename, () => countPiece(db).get(asked));
    total += piece?.count ?? 0;
    after = piece?.last ?? null;
    await new Promise((resolve) => setImmediate(resolve));
  }
  return total;
}
