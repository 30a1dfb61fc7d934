import { createBoundedCache, createDoor } from '../bounded-cache.ts';
import { guardDatabase } from '../db/open.ts';
import type { Reader } from '../db/reader.ts';
import { etagOf } from '../etag.ts';
import type { Profiles, Shown, Text } from './source.ts';

/** How many profiles the board has at most. */
export const BOARD_SIZE = 10_000;

/** The bounds of a page: `limit` entries after the first `offset`. */
export const PAGE_BOUNDS = { minLimit: 1, maxLimit: 100, defaultLimit: 50, maxOffset: 9_999 } as const;

/** One page of the board. */
export type BoardPage = {
  /** `{"leaderboard":[…],"limit","offset","total"}` as JSON text. */
  text: Text;
  /** How many profiles the board has: at most {@link BOARD_SIZE}. */
  total: number;
};

/** Reads pages of the leaderboard. Throws `busy` where the database is locked. */
export type Leaderboard = (limit: number, offset: number) => BoardPage;

/** Who stands where, in the board's order; an entry's text is made when it is first shown. */
export type Standing = { readonly id: number; readonly rank: number; entry: string | null; tag: string };

/** How much of pages is kept at most. */
const PAGES_BYTES = 4 * 1024 * 1024;

/** Pages that are asked for once are garbage at once; kept, they would be until the next full collection. */
const DOOR = 256;

/**
 * Prepares the leaderboard: the top profiles by viewsCount, then id, without banned ones. Its order is read once for
 * every change of a profile (a few milliseconds); pages are put together of profiles that are in memory or read one by one.
 */
export function prepareLeaderboard(reader: Reader, profiles: Profiles): Leaderboard {
  const { sqlite } = reader;
  // The index profiles_board answers this alone, without touching a profile's row.
  const order = sqlite.prepare<[id: number, viewsCount: number], [number]>(
    'SELECT id, views_count FROM profiles WHERE banned = 0 ORDER BY views_count DESC, id LIMIT ?',
  );
  const pages = createBoundedCache<number, BoardPage>(PAGES_BYTES);
  const comesAgain = createDoor(DOOR);
  let board: readonly Standing[] = [];
  let version = -1;

  function readPage(limit: number, offset: number): BoardPage {
    reader.view();
    if (version !== profiles.version()) {
      board = standings(order.values(BOARD_SIZE) as [number, number][]);
      pages.clear();
      version = profiles.version();
    }
    const place = limit * BOARD_SIZE + offset;
    const kept = pages.get(place);
    if (kept !== undefined) return kept;
    const page = boardPage(board, (id) => profiles.ofId(id) as Shown, limit, offset);
    if (comesAgain(place)) pages.set(place, page, 2 * page.text.body.length);
    return page;
  }

  return (limit, offset) => guardDatabase(sqlite.filename, () => readPage(limit, offset));
}

/** Ranks in this order, most views first: competition ranks (1, 2, 2, 4), the same on whatever page one is shown. */
export function standings(order: readonly (readonly [id: number, viewsCount: number])[]): Standing[] {
  let rank = 1;
  return order.map(([id, viewsCount], index) => {
    if (viewsCount !== order[index - 1]?.[1]) rank = index + 1;
    return { id, rank, entry: null, tag: '' };
  });
}

/** Puts a page together. */
export function boardPage(
  board: readonly Standing[],
  shownOf: (id: number) => Shown,
  limit: number,
  offset: number,
): BoardPage {
  const total = board.length;
  const entries: string[] = [];
  let tags = '';
  for (const standing of board.slice(offset, offset + limit)) {
    if (standing.entry === null) {
      // An entry is its rank, then all of the SimplifiedProfile.
      standing.entry = `{"rank":${standing.rank},${shownOf(standing.id).profile.body.slice(1)}`;
      standing.tag = etagOf(standing.entry);
    }
    entries.push(standing.entry);
    tags += standing.tag;
  }
  const end = `],"limit":${limit},"offset":${offset},"total":${total}}`;
  const body = `{"leaderboard":[${entries.join(',')}${end}`;
  // As much a function of the body as a hash of all of it, in a tenth of the time: the tags name every part of it.
  return { text: { body, etag: etagOf(tags + end) }, total };
}
