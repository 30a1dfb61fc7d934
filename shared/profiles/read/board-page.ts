import type { LongBody, Reading } from './long-body.ts';

/** So many neighbours are kept together: a page is put together of a few copies. */
export const BLOCK = 64;

/**
 * Neighbours' entries, each after a comma; the entry `n` begins at `starts[n]` and ends where the next begins. That of a
 * profile that is left out is empty.
 */
export type Block = { readonly bytes: Uint8Array; readonly starts: readonly number[] };

/** Neighbours whose entries take more are not kept together: each of them is read where it is asked for. */
const MAX_BLOCK_BYTES = 1024 * 1024;

/** Reads the entry at a place of the board, after a comma; it is empty where its profile is left out. */
export type EntryAt = (place: number) => Uint8Array;

/** Reads the block that begins at `first`, on a board with so many entries; null where it would be too big. */
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

/** The board that a page is read from, in the order that it had when the page was asked for. Places count from 0. */
export type BoardEntries = {
  total: number;
  entryAt: EntryAt;
  /** The block that begins at this place, a multiple of {@link BLOCK}; null where entries have to be read one by one. */
  blockAt: (first: number) => Block | null;
};

/** The body of one page of the board. Its entries may be read much later than the page was asked for. */
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
    // Before the first entry that is not empty stands no comma.
    to.push(isFirst ? entries.subarray(1) : entries);
    isFirst = false;
    return true;
  };
}
