import { type Body, bodyOf } from '../body.ts';
import { createBoundedCache } from '../bounded-cache.ts';
import { type Reader, readInView } from '../db/reader.ts';
import { AppError } from '../errors.ts';
import { etagOf } from '../etag.ts';
import type { Shown, Sources } from './source.ts';

/** How many profiles the board has at most. */
export const BOARD_SIZE = 10_000;

/** The bounds of a page: `limit` entries after the first `offset`. */
export const PAGE_BOUNDS = { minLimit: 1, maxLimit: 100, defaultLimit: 50, maxOffset: 9_999 } as const;

/** One page of the board: `{"leaderboard":[…],"limit","offset","total"}`; `total`, how many profiles the board has. */
export type BoardPage = Body & { readonly total: number };

/** Reads pages of the leaderboard. Throws `busy` where the database is locked. */
export type Leaderboard = (limit: number, offset: number) => BoardPage;

/** Who, with how many views. */
export type Standing = readonly [id: number, viewsCount: number];

/** The board's order: most views first, then the least id. */
export type Order = readonly Standing[];

/** A board's pages, and what puts it in another order, where only these profiles have `changed`; null: any may have. */
export type Board = { page: Leaderboard; reorder: (next: Order, changed: ReadonlySet<number> | null) => void };

/** So many neighbours are kept together: a page is put together of a few copies. */
const BLOCK = 64;

/**
 * Neighbours' entries, each after a comma; the entry `n` begins at `starts[n]` and ends where the next begins. That of a
 * profile that is left out is empty.
 */
type Block = { readonly bytes: Uint8Array; readonly starts: readonly number[] };

/** What a block takes beside its entries. */
const BLOCK_BYTES = 1024;

/** How much of entries is kept at most: a board of usual profiles. */
const BLOCKS_BYTES = 16 * 1024 * 1024;

/** Half of a SHA-256. */
const TAG_BYTES = 16;

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
  // Of the entries in the blocks that have been made.
  const tags = new Uint8Array(BOARD_SIZE * TAG_BYTES);

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

  function entryAt(place: number): Buffer {
    const shown = profileOf(order[place]?.[0] as number);
    const entry = Buffer.from(shown === null ? '' : `,{"rank":${ranks[place]},${shown.body.slice(1)}`);
    const digest = Bun.SHA256.hash(entry, new Uint8Array(32)) as Uint8Array;
    tags.set(digest.subarray(0, TAG_BYTES), place * TAG_BYTES);
    return entry;
  }

  function blockFrom(first: number): Block {
    const kept = blocks.get(first);
    if (kept !== undefined) return kept;
    const entries: Buffer[] = [];
    const starts = [0];
    for (let place = first; place < Math.min(first + BLOCK, order.length); place++) {
      const entry = entryAt(place);
      entries.push(entry);
      starts.push((starts.at(-1) as number) + entry.length);
    }
    const block = { bytes: Buffer.concat(entries), starts };
    blocks.set(first, block);
    return block;
  }

  function page(limit: number, offset: number): BoardPage {
    const total = order.length;
    const end = Math.min(offset + limit, total);
    const entries = entriesIn(blockFrom, offset, end);
    const tail = `],"limit":${limit},"offset":${offset},"total":${total}}`;
    // As much a function of the body as a hash of all of it, in a tenth of the time: the tags name every part of it.
    const etag = etagOf(bodyOf([tags.subarray(offset * TAG_BYTES, end * TAG_BYTES), tail]));
    return { body: bodyOf(['{"leaderboard":[', ...entries, tail]), etag, total };
  }
  return { page, reorder };
}

/**
 * The entries from one place up to another, each but the first after a comma. `blockFrom` gives the block that begins at a
 * place.
 */
function entriesIn(blockFrom: (first: number) => Block, from: number, end: number): Uint8Array[] {
  const pieces: Uint8Array[] = [];
  for (let place = from; place < end; ) {
    const first = place - (place % BLOCK);
    const next = Math.min(first + BLOCK, end);
    const { bytes, starts } = blockFrom(first);
    const piece = bytes.subarray(starts[place - first], starts[next - first]);
    if (piece.length > 0) pieces.push(piece);
    place = next;
  }
  const head = pieces.shift();
  return head === undefined ? [] : [head.subarray(1), ...pieces];
}

/** Competition ranks (1, 2, 2, 4), the same on whatever page one is shown. */
function ranksIn(order: Order): number[] {
  let rank = 1;
  return order.map(([, viewsCount], index) => {
    if (viewsCount !== order[index - 1]?.[1]) rank = index + 1;
    return rank;
  });
}
