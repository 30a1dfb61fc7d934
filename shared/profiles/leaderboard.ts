import { createBoundedCache, createDoor } from '../bounded-cache.ts';
import { guardDatabase } from '../db/open.ts';
import type { Reader } from '../db/reader.ts';
import { etagOf } from '../etag.ts';
import type { Shown, Source, Text } from './source.ts';

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

/** Who stands where, in the board's order. */
export type Standing = { readonly id: number; readonly rank: number };

/** One of a page's entries: its rank, then all of the SimplifiedProfile; and its entity tag. */
export type Entry = { text: string; tag: string };

/** How much of entries is kept at most: a board of usual profiles. */
const ENTRIES_BYTES = 32 * 1024 * 1024;

/** How much of pages is kept at most. */
const PAGES_BYTES = 4 * 1024 * 1024;

/** Pages that are asked for once are garbage at once; kept, they would be until the next full collection. */
const DOOR = 256;

/**
 * Prepares the leaderboard: the top profiles by viewsCount, then id, without banned ones. Its order is read once after
 * every commit (a few milliseconds); pages are put together of profiles that are in memory or read one by one.
 */
export function prepareLeaderboard(reader: Reader, profiles: Source): Leaderboard {
  const { sqlite } = reader;
  // The index profiles_board answers this alone, without touching a profile's row.
  const order = sqlite.prepare<[id: number, viewsCount: number], [number]>(
    'SELECT id, views_count FROM profiles WHERE banned = 0 ORDER BY views_count DESC, id LIMIT ?',
  );
  const entries = createBoundedCache<number, Entry>(ENTRIES_BYTES);
  const pages = createBoundedCache<number, BoardPage>(PAGES_BYTES);
  const comesAgain = createDoor(DOOR);
  let board: readonly Standing[] | null = null;
  reader.onCommit(() => {
    board = null;
    entries.clear();
    pages.clear();
  });

  function entryOf(standing: Standing): Entry {
    const kept = entries.get(standing.id);
    if (kept !== undefined) return kept;
    const entry = entryIn(standing, profiles.ofId(standing.id) as Shown);
    entries.set(standing.id, entry, 2 * entry.text.length);
    return entry;
  }

  function readPage(limit: number, offset: number): BoardPage {
    reader.view();
    board ??= standings(order.values(BOARD_SIZE) as [number, number][]);
    const place = limit * BOARD_SIZE + offset;
    const kept = pages.get(place);
    if (kept !== undefined) return kept;
    const page = boardPage(board, entryOf, limit, offset);
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
    return { id, rank };
  });
}

/** The entry of who stands there. */
export function entryIn({ rank }: Standing, { text: profile }: Shown): Entry {
  const text = `{"rank":${rank},${profile.body.slice(1)}`;
  return { text, tag: etagOf(text) };
}

/** Puts a page together. */
export function boardPage(
  board: readonly Standing[],
  entryOf: (standing: Standing) => Entry,
  limit: number,
  offset: number,
): BoardPage {
  const total = board.length;
  const entries: string[] = [];
  let tags = '';
  for (const standing of board.slice(offset, offset + limit)) {
    const { text, tag } = entryOf(standing);
    entries.push(text);
    tags += tag;
  }
  const end = `],"limit":${limit},"offset":${offset},"total":${total}}`;
  const body = `{"leaderboard":[${entries.join(',')}${end}`;
  // As much a function of the body as a hash of all of it, in a tenth of the time: the tags name every part of it.
  return { text: { body, etag: etagOf(tags + end) }, total };
}
