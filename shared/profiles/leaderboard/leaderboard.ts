import { type Reader, readInView } from '../../db/reader.ts';
import { AppError } from '../../errors.ts';
import { createBoundedCache } from '../lookup/bounded-cache.ts';
import type { CachedProfile, Sources } from '../lookup/cache.ts';
import { BOARD_SIZE } from './board-bounds.ts';
import { BLOCK, type Block, type BoardBody, pageOf, readBlock } from './board-page.ts';

/**
 * A page of the leaderboard: `{"leaderboard":[…],"limit","offset","total"}`. `next` is the position after its last
 * entry, `total` the number of profiles on the leaderboard.
 */
export type BoardPage = BoardBody & { readonly total: number };

/** Reads a page of the leaderboard. Throws `busy` if the database is locked. */
export type Leaderboard = (limit: number, offset: number) => BoardPage;

/** A profile's id and its number of views. */
export type Standing = readonly [id: number, viewsCount: number];

/** The order of the leaderboard: by views, highest first, then by id, lowest first. */
export type Order = readonly Standing[];

/** A leaderboard. `reorder` changes its order; `changed` are the profiles that changed, null if any may have. */
export type Board = { page: Leaderboard; reorder: (next: Order, changed: ReadonlySet<number> | null) => void };

const BLOCK_BYTES = 2048;

/** Cached instead of a block whose entries are too big to be cached together. */
const TOO_BIG: Block = { bytes: new Uint8Array(), starts: [] };

/** The limit of the cache of blocks: enough for a whole leaderboard of typical profiles. */
const BLOCKS_BYTES = 16 * 1024 * 1024;

/** The condition for listed profiles, which is that of the index profiles_board. */
const IS_LISTED = 'banned = 0 AND show_on_leaderboard = 1';

/** Reads the first profiles of the leaderboard in order, from the index profiles_board alone. */
export const READ_ORDER = `SELECT id, views_count FROM profiles WHERE ${IS_LISTED} ORDER BY views_count DESC, id LIMIT ?`;

/** If more profiles have changed, reading the whole order (about a millisecond) is faster than reading their views. */
const MAX_PARTIAL_REORDER = 250;

/**
 * Prepares the leaderboard: the first `size` profiles by viewsCount, then id, without banned and hidden profiles. An
 * entry is read when a page with it is requested, and again after its profile, position or rank has changed.
 */
export function prepareLeaderboard(reader: Reader, sources: Sources, size = BOARD_SIZE): Leaderboard {
  const { sqlite } = reader;
  const readOrder = sqlite.prepare<[id: number, viewsCount: number], [number]>(READ_ORDER);
  const readStandings = sqlite.prepare<[id: number, viewsCount: number], [string]>(
    `SELECT id, views_count FROM profiles WHERE ${IS_LISTED} AND id IN (SELECT value FROM json_each(?))`,
  );
  let order: Order = [];
  // The profiles that have changed since the order was read; null if any may have.
  let changed: Set<number> | null = null;
  sources.onChange((ids) => {
    // If nobody requests the leaderboard for a long time, the list must not grow without limit.
    if (ids === null || changed === null || changed.size + ids.length > BOARD_SIZE) changed = null;
    else for (const id of ids) changed.add(id);
  });
  const board = boardIn(order, (id) => {
    try {
      const profile = sources.profileOnce(id);
      if (profile !== null) return profile;
    } catch (error) {
      if (!(error instanceof AppError && error.code === 'internal')) throw error;
      reader.report('A profile is left out of the leaderboard.', error);
      return null;
    }
    // Somebody deleted the profile with SQL by hand at the same moment as a recorded change.
    changed = null;
    throw new AppError('busy', 'The leaderboard has just changed; try again.');
  });

  function orderNow(): Order {
    if (changed !== null && changed.size <= MAX_PARTIAL_REORDER) {
      const standings = readStandings.values(JSON.stringify([...changed])) as [number, number][];
      const next = reordered(order, changed, standings, size);
      if (next !== null) return next;
    }
    return readOrder.values(size) as [number, number][];
  }

  return (limit, offset) =>
    readInView(reader, () => {
      if (changed?.size !== 0) {
        const next = orderNow();
        if (next !== order) board.reorder(next, changed);
        order = next;
        changed = new Set();
      }
      return board.page(limit, offset);
    });
}

/**
 * The new order after these profiles have `changed`. `standings` are those of them that exist and are listed. Returns
 * `order` itself if none of them was or is on the board, and null if the whole order has to be read, because a full
 * board has lost profiles and the following ones are unknown.
 */
function reordered(order: Order, changed: ReadonlySet<number>, standings: Order, size: number): Order | null {
  const last = order[size - 1];
  const staying = order.filter(([id]) => !changed.has(id));
  // Profiles after the last one are not added, since unknown others may come before them.
  const coming = last === undefined ? standings : standings.filter((standing) => compare(standing, last) <= 0);
  if (coming.length === 0 && staying.length === order.length) return order;
  const next = [...staying, ...coming].sort(compare).slice(0, size);
  return last !== undefined && next.length < size ? null : next;
}

function compare([id, viewsCount]: Standing, [otherId, otherViewsCount]: Standing): number {
  return otherViewsCount - viewsCount || id - otherId;
}

/**
 * Makes a leaderboard that begins with the order `first`. `profileOf` reads a profile by its id. If it returns null,
 * the profile's position stays empty and the others keep theirs.
 */
export function boardIn(first: Order, profileOf: (id: number) => CachedProfile | null): Board {
  let order = first;
  let ranks = ranksIn(order);
  const blocks = createBoundedCache<number, Block>(BLOCKS_BYTES, (_, { bytes }) => bytes.length + BLOCK_BYTES);

  function reorder(next: Order, changed: ReadonlySet<number> | null): void {
    const nextRanks = ranksIn(next);
    if (changed === null) blocks.clear();
    for (const [place, [id]] of next.entries()) {
      const isSame = id === order[place]?.[0] && ranks[place] === nextRanks[place] && !changed?.has(id);
      if (!isSame) blocks.delete(place - (place % BLOCK));
    }
    order = next;
    ranks = nextRanks;
  }

  function entryAt(place: number): Uint8Array {
    const profile = profileOf(order[place]?.[0] as number);
    return Buffer.from(profile === null ? '' : `,{"rank":${ranks[place]},${profile.body.slice(1)}`);
  }

  function blockFrom(first: number): Block | null {
    const kept = blocks.get(first);
    if (kept !== undefined) return kept === TOO_BIG ? null : kept;
    const block = readBlock(first, order.length, entryAt);
    blocks.set(first, block ?? TOO_BIG);
    return block;
  }

  function page(limit: number, offset: number): BoardPage {
    const total = order.length;
    return { ...pageOf({ total, entryAt, blockAt: blockFrom }, limit, offset), total };
  }
  return { page, reorder };
}

/** Competition ranks (1, 2, 2, 4), counted from the beginning of the board, not of a page. */
function ranksIn(order: Order): number[] {
  let rank = 1;
  return order.map(([, viewsCount], index) => {
    if (viewsCount !== order[index - 1]?.[1]) rank = index + 1;
    return rank;
  });
}
