import { type Body, bodyOf, type Part } from './body.ts';

/**
 * A response body that may be too big for memory. The entity tag is sent before the body, so a long body is read twice: to
 * compute the tag, and again while the body is sent. If profiles change in between, the two readings differ.
 */
export type LongBody = {
  /** Begins to read the body from its beginning. */
  open: () => Reading;
};

/** Appends the next parts of a body to `to` and returns whether more parts follow. Throws the errors of reading the data. */
export type Reading = (to: Part[]) => boolean;

/** A body up to about this many bytes is put together in memory; text is measured in UTF-16 units, not in bytes. */
export const MAX_WHOLE_BYTES = 512 * 1024;

/** Reads a body into memory. Returns `long` itself where the body turns out longer than {@link MAX_WHOLE_BYTES}. */
export function putTogether(long: LongBody): Body | LongBody {
  const next = long.open();
  const parts: Part[] = [];
  let measured = 0;
  let length = 0;
  let goesOn = true;
  while (goesOn) {
    goesOn = next(parts);
    for (; measured < parts.length; measured++) length += (parts[measured] as Part).length;
    if (goesOn && length > MAX_WHOLE_BYTES) return long;
  }
  return bodyOf(parts);
}

/** True for a body that has to be read while it is sent, false for one that is in memory as a whole. */
export function isLong(body: Body | LongBody): body is LongBody {
  return 'open' in body;
}

/** The same body, but each step of reading runs inside `act`, for example in a read transaction. */
export function readInside(body: LongBody, act: <T>(read: () => T) => T): LongBody {
  return {
    open: () => {
      const next = body.open();
      return (to) => act(() => next(to));
    },
  };
}
