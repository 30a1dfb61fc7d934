import { type Reader, readInView } from '../../db/reader.ts';
import { AppError } from '../../errors.ts';
import { BOARD_SIZE } from './board-bounds.ts';
import { BLOCK, type Block, type EntryAt, pageOf, readBlock } from './board-page.ts';
import type { Body } from './body.ts';
import { createBoundedCache } from './bounded-cache.ts';
import type { Shown, Sources } from './cache.ts';
import { isLong, type LongBody, putTogether, readInside } from './long-body.ts';

/** One page of the board: `{"leaderboard":[…],"limit","offset","total"}`; `total`, how many profiles the board has. */
export type BoardPage = { readonly page: Body | LongBody; readonly total: number };

/** Reads pages of the leaderboard. Throws `busy` where the database is locked. */
export type Leaderboard = (limit: number, offset: number) => BoardPage;

/** Who, with how many views. */
export type Standing = readonly [id: number, viewsCount: number];

/** The board's order: most views first, then the least id. */
export type Order = readonly Standing[];

/** A board's pages, and what puts it in another order, where only these profiles have `changed`; null: any may have. */
export type Board = { page: Leaderboard; reorder: (next: Order, changed: ReadonlySet<number> | null) => void };

/** What a block takes beside its entries. */
const BLOCK_BYTES = 2048;

/** Is kept in the place of neighbours that are too big to be kept together. */
const TOO_BIG: Block = { bytes: new Uint8Array(), starts: [] };

/** How much of entries is kept at most: a board of usual profiles. */
const BLOCKS_BYTES = 16 * 1024 * 1024;

/** Where more have changed, the whole order (about a millisecond) takes less time to read than where these stand now. */
const FEW = 250;

/**
 * Prepares the leaderboard: the top profiles by viewsCount, then id, without banned ones; `size` is {@link BOARD_SIZE}, or
 * less. Its entries are read as they are asked for, and again once the profile, its place or its rank has changed.
 */
export function prepareLeaderboard(reader: Reader, sources: Sources, size = BOARD_SIZE): Leaderboard {
  const { sqlite } = reader;
  // The index profiles_board answers this alone, without touching a profile's row.
  const readOrder = sqlite.prepare<[id: number, viewsCount: number], [number]>(
    'SELECT id, views_count FROM profiles WHERE banned = 0 ORDER BY views_count DESC, id LIMIT ?',
  );
  const readStandings = sqlite.prepare<[id: number, viewsCount: number], [string]>(
    'SELECT id, views_count FROM profiles WHERE banned = 0 AND id IN (SELECT value FROM json_each(?))',
  );
  let order: Order = [];
  // Since the order was read; null where any profile may have.
  let changed: Set<number> | null = null;
  sources.onChange((ids) => {
    // While nobody asks for the board these would only take memory.
    if (ids === null || changed === null || changed.size + ids.length > BOARD_SIZE) changed = null;
    else for (const id of ids) changed.add(id);
  });
  const board = boardIn(order, (id) => {
    try {
      const shown = sources.profileOnce(id);
      if (shown !== null) return shown;
    } catch (error) {
      if (!(error instanceof AppError && error.code === 'internal')) throw error;
      reader.report('A profile is left out of the leaderboard.', error);
      return null;
    }
    // Deleted by hand in the same moment as a noted change.
    changed = null;
    throw new AppError('busy', 'The leaderboard is not what it was; try again.');
  });

  function orderNow(): Order {
    if (changed !== null && changed.size <= FEW) {
      const standings = readStandings.values(JSON.stringify([...changed])) as [number, number][];
      const next = reordered(order, changed, standings, size);
      if (next !== null) return next;
    }
    return readOrder.values(size) as [number, number][];
  }

  return (limit, offset) => {
    const { page, total } = readInView(reader, () => {
      if (changed?.size !== 0) {
        const next = orderNow();
        if (next !== order) board.reorder(next, changed);
        order = next;
        changed = new Set();
      }
      return board.page(limit, offset);
    });
    return { page: isLong(page) ? readInside(page, (read) => readInView(reader, read)) : page, total };
  };
}

/**
 * The order once these profiles have `changed`, of which `standings` has those that are there and not banned: the same one
 * where none of them was on the board or is. Null where others must be read to fill a board that was full.
 */
function reordered(order: Order, changed: ReadonlySet<number>, standings: Order, size: number): Order | null {
  const last = order[size - 1];
  const staying = order.filter(([id]) => !changed.has(id));
  // Below the last one others that are not known stand before them.
  const coming = last === undefined ? standings : standings.filter((standing) => compare(standing, last) <= 0);
  if (coming.length === 0 && staying.length === order.length) return order;
  const next = [...staying, ...coming].sort(compare).slice(0, size);
  return last !== undefined && next.length < size ? null : next;
}

function compare([id, viewsCount]: Standing, [otherId, otherViewsCount]: Standing): number {
  return otherViewsCount - viewsCount || id - otherId;
}

/**
 * A board, first in this order. `profileOf` reads the profile of an id; where that is null the profile's place stays empty,
 * and all others keep theirs.
 */
export function boardIn(first: Order, profileOf: (id: number) => Shown | null): Board {
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

  /** Reads entries in the order of now, whatever the order is by the time they are read. */
  function entriesNow(): EntryAt {
    const [orderThen, ranksThen] = [order, ranks];
    return (place) => {
      const shown = profileOf(orderThen[place]?.[0] as number);
      return Buffer.from(shown === null ? '' : `,{"rank":${ranksThen[place]},${shown.body.slice(1)}`);
    };
  }

  function blockFrom(first: number): Block | null {
    const kept = blocks.get(first);
    if (kept !== undefined) return kept === TOO_BIG ? null : kept;
    const block = readBlock(first, order.length, entriesNow());
    blocks.set(first, block ?? TOO_BIG);
    return block;
  }

  function page(limit: number, offset: number): BoardPage {
    const orderThen = order;
    const total = order.length;
    const blockAt = (first: number) => (order === orderThen ? blockFrom(first) : null);
    return { page: putTogether(pageOf({ total, entryAt: entriesNow(), blockAt }, limit, offset)), total };
  }
  return { page, reorder };
}

/** Competition ranks (1, 2, 2, 4), the same on whatever page one is shown. */
function ranksIn(order: Order): number[] {
  let rank = 1;
  return order.map(([, viewsCount], index) => {
    if (viewsCount !== order[index - 1]?.[1]) rank = index + 1;
    return rank;
  });
}
