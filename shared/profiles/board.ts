import type { Clock } from '../clock.ts';
import { createKept, type Reader, readInView } from '../db/reader.ts';
import { MAX_BODY_BYTES } from './lookup.ts';

/** The maximum number of profiles on the leaderboard. */
export const BOARD_SIZE = 10_000;

/** The bounds of a page of the leaderboard: `limit` entries after the first `offset` entries. */
export const PAGE_BOUNDS = { minLimit: 1, maxLimit: 100, defaultLimit: 50, maxOffset: 9_999 } as const;

/**
 * A page of the leaderboard: `{"leaderboard":[…],"limit","offset","total"}`. `next` is the position after its last
 * entry, `total` the number of profiles on the leaderboard.
 */
type BoardPage = { body: string; next: number; total: number };

/** Reads a page of the leaderboard. Throws `busy` if the database is locked. */
export type Leaderboard = (limit: number, offset: number) => BoardPage;

/** How old the order may be. */
const MAX_AGE_MS = 1_000;

// The literals are those of the index profiles_board: with parameters SQLite would not use it.
const IS_LISTED = 'banned = 0 AND show_on_leaderboard = 1';

/** Reads the first profiles of the leaderboard in order, from the index profiles_board alone. */
export const READ_ORDER = `SELECT id, views FROM profiles WHERE ${IS_LISTED} ORDER BY views DESC, id LIMIT ${BOARD_SIZE}`;

type Standing = [id: number, views: number];

/**
 * Prepares the leaderboard: the first profiles by viewsCount, then id, without banned and hidden ones. Reading their order
 * takes two milliseconds, so it is kept: for a second at most once the database has changed, and not at all if a profile of
 * the page has other views by now, or is no longer listed.
 */
export function prepareLeaderboard(reader: Reader, clock: Pick<Clock, 'monotonicMs'>): Leaderboard {
  const readOrder = reader.sqlite.prepare<Standing, []>(READ_ORDER);
  // By the index, because SQLite would make `views` and `banned` from the JSON again, which takes twice as long as reading it.
  const readListed = reader.sqlite.prepare<{ profile: string }, Standing>(
    `SELECT profile FROM profiles INDEXED BY profiles_board WHERE id = ? AND views = ? AND ${IS_LISTED}`,
  );
  let order: Standing[] = [];
  let ranks: number[] = [];
  let readAt = { commits: -1, ms: Number.NEGATIVE_INFINITY };
  const kept = createKept<BoardPage>(reader);

  function reorder(): void {
    order = readOrder.values() as Standing[];
    ranks = ranksIn(order);
    readAt = { commits: reader.commits, ms: clock.monotonicMs() };
  }

  /** Null if the order is no longer that of these profiles. */
  function page(limit: number, offset: number): BoardPage | null {
    const total = order.length;
    const head = '{"leaderboard":[';
    const tail = `],"limit":${limit},"offset":${offset},"total":${total}}`;
    const entries: string[] = [];
    let bytes = head.length + tail.length;
    let next = offset;
    for (; next < Math.min(offset + limit, total); next++) {
      const [id, views] = order[next] as Standing;
      const row = readListed.get(id, views);
      if (row === null) return null;
      const entry = `{"rank":${ranks[next]},${row.profile.slice(1)}`;
      bytes += Buffer.byteLength(entry) + 1;
      if (bytes > MAX_BODY_BYTES && entries.length > 0) break;
      entries.push(entry);
    }
    return { body: `${head}${entries.join(',')}${tail}`, next, total };
  }

  function pageNow(limit: number, offset: number): BoardPage {
    const isOld = reader.commits !== readAt.commits && clock.monotonicMs() - readAt.ms >= MAX_AGE_MS;
    const kept = isOld ? null : page(limit, offset);
    if (kept !== null) return kept;
    reorder();
    const fresh = page(limit, offset);
    if (fresh === null) throw new Error('the leaderboard has changed within a view');
    return fresh;
  }

  return (limit, offset) => readInView(reader, () => kept(`${limit} ${offset}`, () => pageNow(limit, offset)));
}

/** Competition ranks (1, 2, 2, 4), counted from the beginning of the board, not of a page. */
function ranksIn(order: readonly Standing[]): number[] {
  let rank = 1;
  return order.map(([, views], index) => {
    if (views !== order[index - 1]?.[1]) rank = index + 1;
    return rank;
  });
}
