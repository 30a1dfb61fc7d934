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

/**
 * Reads the first profiles of the leaderboard in order, from the index profiles_board alone. The literals are those of the index:
 * with parameters SQLite would not use it.
 */
export const READ_ORDER = `SELECT id, views FROM profiles WHERE banned = 0 AND show_on_leaderboard = 1
  ORDER BY views DESC, id LIMIT ${BOARD_SIZE}`;

type Standing = [id: number, views: number];

/**
 * Prepares the leaderboard: the first profiles by viewsCount, then id, without banned and hidden ones. Reading their order
 * takes two milliseconds, so it is kept until the next commit.
 */
export function prepareLeaderboard(reader: Reader): Leaderboard {
  const readOrder = reader.sqlite.prepare<Standing, []>(READ_ORDER);
  const readProfile = reader.sqlite.prepare<{ profile: string }, [number]>('SELECT profile FROM profiles WHERE id = ?');
  let order: number[] = [];
  let ranks: number[] = [];
  let commits = -1;
  const kept = createKept<BoardPage>(reader);

  function reorder(): void {
    const standings = readOrder.values() as Standing[];
    order = standings.map(([id]) => id);
    ranks = ranksIn(standings);
    commits = reader.commits;
  }

  function page(limit: number, offset: number): BoardPage {
    if (commits !== reader.commits) reorder();
    const total = order.length;
    const head = '{"leaderboard":[';
    const tail = `],"limit":${limit},"offset":${offset},"total":${total}}`;
    const entries: string[] = [];
    let bytes = head.length + tail.length;
    let next = offset;
    for (; next < Math.min(offset + limit, total); next++) {
      const { profile } = readProfile.get(order[next] as number) as { profile: string };
      const entry = `{"rank":${ranks[next]},${profile.slice(1)}`;
      bytes += Buffer.byteLength(entry) + 1;
      if (bytes > MAX_BODY_BYTES && entries.length > 0) break;
      entries.push(entry);
    }
    return { body: `${head}${entries.join(',')}${tail}`, next, total };
  }

  return (limit, offset) => readInView(reader, () => kept(`${limit} ${offset}`, () => page(limit, offset)));
}

/** Competition ranks (1, 2, 2, 4), counted from the beginning of the board, not of a page. */
function ranksIn(order: readonly Standing[]): number[] {
  let rank = 1;
  return order.map(([, views], index) => {
    if (views !== order[index - 1]?.[1]) rank = index + 1;
    return rank;
  });
}
