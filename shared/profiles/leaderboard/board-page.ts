import { type Body, bodyOf, MAX_BODY_BYTES, type Part } from '../lookup/body.ts';

/** The number of adjacent entries that are cached together, so that a page takes only a few large copies. */
export const BLOCK = 64;

/**
 * Adjacent entries of the leaderboard, each preceded by a comma. Entry `n` begins at `starts[n]` and ends where the
 * next one begins. The entry of an omitted profile is empty.
 */
export type Block = { readonly bytes: Uint8Array; readonly starts: readonly number[] };

/** The maximum size of a cached block. The entries of larger blocks are read one by one for each request. */
const MAX_BLOCK_BYTES = 1024 * 1024;

/** Reads the entry at a position of the board, preceded by a comma; empty if its profile is omitted. */
export type EntryAt = (place: number) => Uint8Array;

/**
 * Reads the block that begins at the position `first` of a board with `total` entries; null if it is too big to be
 * cached.
 */
export function readBlock(first: number, total: number, entryAt: EntryAt): Block | null {
  const entries: Uint8Array[] = [];
  const starts = [0];
  let length = 0;
  for (let place = first; place < Math.min(first + BLOCK, total); place++) {
    const entry = entryAt(place);
    entries.push(entry);
    length += entry.length;
    starts.push(length);
    if (length > MAX_BLOCK_BYTES) return null;
  }
  return { bytes: Buffer.concat(entries), starts };
}

/** The board from which a page is read. Positions count from 0. */
export type BoardEntries = {
  total: number;
  entryAt: EntryAt;
  /**
   * The block that begins at this position, a multiple of {@link BLOCK}; null if its entries have to be read one by
   * one.
   */
  blockAt: (first: number) => Block | null;
};

/** The body of a page of the board, and the position after its last entry. */
export type BoardBody = { body: Body; next: number };

/**
 * Makes a page of the board: `limit` entries from `offset` on, or as many as fit into {@link MAX_BODY_BYTES}, but at
 * least one if there is one.
 */
export function pageOf(board: BoardEntries, limit: number, offset: number): BoardBody {
  const tail = `],"limit":${limit},"offset":${offset},"total":${board.total}}`;
  const parts: Part[] = [HEAD];
  const end = Math.min(offset + limit, board.total);
  let left = MAX_BODY_BYTES - HEAD.length - tail.length;
  let place = offset;
  while (place < end) {
    const { entries, next } = entriesFrom(board, place, end, left);
    if (entries.length > left && parts.length > 1) break;
    // The first entry that is not empty loses its comma.
    if (entries.length > 0) parts.push(parts.length === 1 ? entries.subarray(1) : entries);
    left -= entries.length;
    place = next;
  }
  parts.push(tail);
  return { body: bodyOf(parts), next: place };
}

const HEAD = '{"leaderboard":[';

/** The entries from a position on that are in its block and have at most `maxBytes` bytes, but at least one. */
function entriesFrom({ entryAt, blockAt }: BoardEntries, place: number, end: number, maxBytes: number) {
  const first = place - (place % BLOCK);
  const block = blockAt(first);
  if (block === null) return { entries: entryAt(place), next: place + 1 };
  const { bytes, starts } = block;
  const startOf = (at: number) => starts[at - first] as number;
  let next = Math.min(first + BLOCK, end);
  while (next > place + 1 && startOf(next) - startOf(place) > maxBytes) next--;
  return { entries: bytes.subarray(startOf(place), startOf(next)), next };
}
