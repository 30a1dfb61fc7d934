import { type Body, bodyOf, type Part } from './body.ts';

/**
 * A body that may be too big for memory. Its entity tag goes out before it does, so a long one is read twice: for the tag,
 * and as it is sent. It may be another one the second time, where profiles have changed.
 */
export type LongBody = {
  /** Begins to read the body from its beginning. */
  open: () => Reading;
};

/** Adds the next parts of a body to these, and returns whether there are more. Throws what reading does. */
export type Reading = (to: Part[]) => boolean;

/** Bodies up to about so many bytes (so many UTF-16 units of text) are put together in memory. */
export const MAX_WHOLE_BYTES = 512 * 1024;

/** Reads a body and puts it together, or returns it as it is where it turns out to be longer than that. */
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

/** Whether a body has to be read as it is sent, or is there as a whole. */
export function isLong(body: Body | LongBody): body is LongBody {
  return 'open' in body;
}

/** The same body, all reading of which runs inside `act`. */
export function readInside(body: LongBody, act: <T>(read: () => T) => T): LongBody {
  return {
    open: () => {
      const next = body.open();
      return (to) => act(() => next(to));
    },
  };
}
