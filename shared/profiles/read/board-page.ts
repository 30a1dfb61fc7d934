import { etagOf } from '../../etag.ts';
import { bodyOf, type Part } from './body.ts';
import type { LongBody } from './long-body.ts';

/** So many neighbours are kept together: a page is put together of a few copies. */
export const BLOCK = 64;

/**
 * Neighbours' entries, each after a comma, and their tags; the entry `n` begins at `starts[n]` and ends where the next
 * begins. That of a profile that is left out is empty.
 */
export type Block = { readonly bytes: Uint8Array; readonly starts: readonly number[]; readonly tags: Uint8Array };

/** Neighbours whose entries take more are not kept together: each of them is read where it is asked for. */
const MAX_BLOCK_BYTES = 1024 * 1024;

/** Reads the entry at a place of the board, after a comma; it is empty where its profile is left out. */
export type EntryAt = (place: number) => Uint8Array;

/** Half of a SHA-256. */
const TAG_BYTES = 16;

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
  return { bytes: Buffer.concat(entries), starts, tags: Buffer.concat(entries.map(tagOf)) };
}

/** The tag of an entry: half of its SHA-256. */
function tagOf(entry: Uint8Array): Uint8Array {
  return (Bun.SHA256.hash(entry as Bun.StringOrBuffer, new Uint8Array(32)) as Uint8Array).subarray(0, TAG_BYTES);
}

/** The board that a page is read from, in the order that it had when the page was asked for. Places count from 0. */
export type BoardEntries = {
  total: number;
  entryAt: EntryAt;
  /** The block that begins at this place, a multiple of {@link BLOCK}; null where entries have to be read one by one. */
  blockAt: (first: number) => Block | null;
};

/** The body of one page of the board. Its entries may be read much later than the page was asked for. */
export function pageOf({ total, entryAt, blockAt }: BoardEntries, limit: number, offset: number): LongBody {
  const end = Math.min(offset + limit, total);
  const count = Math.max(0, end - offset);
  const tags = new Uint8Array(count * TAG_BYTES);
  let place = offset;

  let isFirst = true;

  /** Adds the entries from this place on; before the page's first one that is not empty stands no comma. */
  function put(from: number, entries: Uint8Array, to: Part[]): void {
    if (from === offset) {
      to.push(HEAD);
      isFirst = true;
    }
    if (entries.length === 0) return;
    to.push(isFirst ? entries.subarray(1) : entries);
    isFirst = false;
  }
  return {
    next: (to) => {
      if (place >= end) return false;
      const from = place;
      const first = from - (from % BLOCK);
      const block = blockAt(first);
      place = block === null ? from + 1 : Math.min(first + BLOCK, end);
      const entries = block?.bytes.subarray(block.starts[from - first], block.starts[place - first]) ?? entryAt(from);
      const itsTags = block?.tags.subarray((from - first) * TAG_BYTES, (place - first) * TAG_BYTES) ?? tagOf(entries);
      tags.set(itsTags, (from - offset) * TAG_BYTES);
      put(from, entries, to);
      return true;
    },
    count: () => count,
    end: () => {
      const tail = `${count === 0 ? HEAD : ''}],"limit":${limit},"offset":${offset},"total":${total}}`;
      // As much a function of the body as a hash of all of it, in a tenth of the time: the tags name every part of it.
      return { tail, etag: etagOf(bodyOf([tags, tail])) };
    },
    again: (index, to) => {
      const entry = entryAt(offset + index);
      put(offset + index, entry, to);
      return tagOf(entry).every((byte, at) => byte === tags[index * TAG_BYTES + at]);
    },
  };
}

const HEAD = '{"leaderboard":[';
