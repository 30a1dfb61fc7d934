import { type Body, bodyOf, type Part } from './body.ts';

/**
 * A body that is read entry by entry, since it may be too big for memory. Its entity tag is made of its entries' tags and
 * goes out before the body does, so a long one is read twice: first for the tags ({@link next}), then to be sent
 * ({@link again}). Both throw what reading does.
 */
export type LongBody = {
  /** Adds the next entry's parts to these, and returns true; false once there are no more. */
  next: (to: Part[]) => boolean;
  /** How many entries `next` has added. */
  count: () => number;
  /** What follows the last entry, and the body's entity tag; once `next` has returned false. */
  end: () => { tail: string; etag: string };
  /** Adds the parts of the entry at this index again, and returns true; false where they are not what they were. */
  again: (index: number, to: Part[]) => boolean;
};

/** Bodies up to about so many bytes (so many UTF-16 units of text) are put together in memory. */
export const MAX_WHOLE_BYTES = 512 * 1024;

/** Reads a body and puts it together, or, where it turns out to be longer than that, returns it with some of it read. */
export function putTogether(long: LongBody): Body | LongBody {
  const parts: Part[] = [];
  let measured = 0;
  let length = 0;
  while (long.next(parts)) {
    for (; measured < parts.length; measured++) length += (parts[measured] as Part).length;
    if (length > MAX_WHOLE_BYTES) return long;
  }
  // Before the body: both may be made in the one place that is kept for bodies.
  const { tail, etag } = long.end();
  parts.push(tail);
  return { body: bodyOf(parts), etag };
}

/** Whether a body has to be read entry by entry, or is there as a whole. */
export function isLong(body: Body | LongBody): body is LongBody {
  return 'again' in body;
}

/** The same body, each reading of which runs inside `act`. */
export function readInside(body: LongBody, act: <T>(read: () => T) => T): LongBody {
  return {
    ...body,
    next: (to) => act(() => body.next(to)),
    again: (index, to) => act(() => body.again(index, to)),
  };
}
