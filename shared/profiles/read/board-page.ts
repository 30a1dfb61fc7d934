import type { LongBody, Reading } from './long-body.ts';

/** The number of neighbouring entries that are cached together, so that a page is made of a few large copies. */
export const BLOCK = 64;

/**
 * Neighbouring entries of the leaderboard, each preceded by a comma. Entry `n` begins at `starts[n]` and ends where the next
 * one begins. The entry of a profile that is left out is empty.
 */
export type Block = { readonly bytes: Uint8Array; readonly starts: readonly number[] };

/** The largest block that is cached, in bytes. The entries of a larger one are read one by one for each request. */
const MAX_BLOCK_BYTES = 1024 * 1024;

/** Reads the entry at a place of the board, preceded by a comma. It is empty if its profile is left out. */
export type EntryAt = (place: number) => Uint8Array;

/** Reads the block that begins at the place `first` of a board with `total` entries. Null if it is too big to be cached. */
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

/** The board from which a page is read, in the order that it had when the page was requested. Places count from 0. */
export type BoardEntries = {
  total: number;
  entryAt: EntryAt;
  /** The block that begins at this place, a multiple of {@link BLOCK}; null if its entries have to be read one by one. */
  blockAt: (first: number) => Block | null;
};

/** The body of one page of the board. Its entries may be read much later than the page was requested. */
export function pageOf(board: BoardEntries, limit: number, offset: number): LongBody {
  return { open: () => readPage(board, limit, offset) };
}

function readPage({ total, entryAt, blockAt }: BoardEntries, limit: number, offset: number): Reading {
  const end = Math.min(offset + limit, total);
  let place = offset;
  let isFirst = true;
  return (to) => {
    if (place === offset) to.push('{"leaderboard":[');
    if (place >= end) {
      to.push(`],"limit":${limit},"offset":${offset},"total":${total}}`);
      return false;
    }
    const from = place;
    const first = from - (from % BLOCK);
    const block = blockAt(first);
    place = block === null ? from + 1 : Math.min(first + BLOCK, end);
    const entries = block?.bytes.subarray(block.starts[from - first], block.starts[place - first]) ?? entryAt(from);
    if (entries.length === 0) return true;
    // The first entry that is not empty loses its comma.
    to.push(isFirst ? entries.subarray(1) : entries);
    isFirst = false;
    return true;
  };
}
