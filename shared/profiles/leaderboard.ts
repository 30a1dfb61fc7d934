import { type Body, bodyOf } from '../body.ts';
import { createBoundedCache } from '../bounded-cache.ts';
import { guardDatabase } from '../db/open.ts';
import type { Reader } from '../db/reader.ts';
import { etagOf } from '../etag.ts';
import type { Shown, Source } from './source.ts';

/** How many profiles the board has at most. */
export const BOARD_SIZE = 10_000;

/** The bounds of a page: `limit` entries after the first `offset`. */
export const PAGE_BOUNDS = { minLimit: 1, maxLimit: 100, defaultLimit: 50, maxOffset: 9_999 } as const;

/** One page of the board: `{"leaderboard":[…],"limit","offset","total"}`; `total`, how many profiles the board has. */
export type BoardPage = Body & { readonly total: number };

/** Reads pages of the leaderboard. Throws `busy` where the database is locked. */
export type Leaderboard = (limit: number, offset: number) => BoardPage;

/** The board's order: who, with how many views; most views first, then the least id. */
export type Order = readonly (readonly [id: number, viewsCount: number])[];

/** So many neighbours are kept together: a page is put together of a few copies. */
const BLOCK = 64;

/** Neighbours' entries, each followed by a comma; the entry `n` begins at `starts[n]` and ends where the next begins. */
type Block = { readonly bytes: Uint8Array; readonly starts: readonly number[] };

/** What a block takes beside its entries. */
const BLOCK_BYTES = 1024;

/** How much of entries is kept at most: a board of usual profiles. */
const BLOCKS_BYTES = 16 * 1024 * 1024;

/** Half of a SHA-256. */
const TAG_BYTES = 16;

/**
 * Prepares the leaderboard: the top profiles by viewsCount, then id, without banned ones. Its order is read once after
 * every commit (a few milliseconds), its entries as they are asked for.
 */
export function prepareLeaderboard(reader: Reader, profileOf: Source['ofId']): Leaderboard {
  const { sqlite } = reader;
  // The index profiles_board answers this alone, without touching a profile's row.
  const order = sqlite.prepare<[id: number, viewsCount: number], [number]>(
    'SELECT id, views_count FROM profiles WHERE banned = 0 ORDER BY views_count DESC, id LIMIT ?',
  );
  let board: Leaderboard | null = null;
  reader.onCommit(() => {
    board = null;
  });
  return (limit, offset) =>
    guardDatabase(sqlite.filename, () => {
      reader.view();
      board ??= boardIn(order.values(BOARD_SIZE) as [number, number][], profileOf);
      return board(limit, offset);
    });
}

/** A board in this order, which does not change; `profileOf` finds who stands on it. */
export function boardIn(order: Order, profileOf: Source['ofId']): Leaderboard {
  const total = order.length;
  const ranks = ranksIn(order);
  const blocks = createBoundedCache<number, Block>(BLOCKS_BYTES, (_, { bytes }) => bytes.length + BLOCK_BYTES);
  // Of the entries in the blocks that have been made.
  const tags = new Uint8Array(total * TAG_BYTES);

  function entryAt(place: number): Buffer {
    const { body } = profileOf(order[place]?.[0] as number) as Shown;
    const entry = Buffer.from(`{"rank":${ranks[place]},${body.slice(1)},`);
    const digest = Bun.SHA256.hash(entry, new Uint8Array(32)) as Uint8Array;
    tags.set(digest.subarray(0, TAG_BYTES), place * TAG_BYTES);
    return entry;
  }

  function blockFrom(first: number): Block {
    const kept = blocks.get(first);
    if (kept !== undefined) return kept;
    const entries: Buffer[] = [];
    const starts = [0];
    for (let place = first; place < Math.min(first + BLOCK, total); place++) {
      const entry = entryAt(place);
      entries.push(entry);
      starts.push((starts.at(-1) as number) + entry.length);
    }
    const block = { bytes: Buffer.concat(entries), starts };
    blocks.set(first, block);
    return block;
  }

  return (limit, offset) => {
    const end = Math.min(offset + limit, total);
    const entries: Uint8Array[] = [];
    for (let place = offset; place < end; ) {
      const first = place - (place % BLOCK);
      const next = Math.min(first + BLOCK, end);
      const { bytes, starts } = blockFrom(first);
      const comma = next === end ? 1 : 0;
      entries.push(bytes.subarray(starts[place - first], (starts[next - first] as number) - comma));
      place = next;
    }
    const tail = `],"limit":${limit},"offset":${offset},"total":${total}}`;
    // As much a function of the body as a hash of all of it, in a tenth of the time: the tags name every part of it.
    const etag = etagOf(bodyOf([tags.subarray(offset * TAG_BYTES, end * TAG_BYTES), tail]));
    return { body: bodyOf(['{"leaderboard":[', ...entries, tail]), etag, total };
  };
}

/** Competition ranks (1, 2, 2, 4), the same on whatever page one is shown. */
function ranksIn(order: Order): number[] {
  let rank = 1;
  return order.map(([, viewsCount], index) => {
    if (viewsCount !== order[index - 1]?.[1]) rank = index + 1;
    return rank;
  });
}
