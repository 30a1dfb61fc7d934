/** What a body is put together of: texts, and bytes of UTF-8. */
export type Part = string | Uint8Array;

/** A body as it is sent: see {@link bodyOf} for how long it lasts. */
export type Body = Uint8Array<ArrayBuffer>;

/** Bodies up to a third of this are put together in the one place that is kept; of it only what was used takes memory. */
const place = Buffer.allocUnsafeSlow(1024 * 1024);

/**
 * Puts a body together. It lasts until the next one is: make its Response before, which copies it (Fetch, "extract a
 * body"). New bytes for each would outrun the garbage collector, and cost as much as all the rest of an answer.
 */
export function bodyOf(parts: readonly Part[]): Body {
  let most = 0;
  // A UTF-16 unit takes three bytes at most.
  for (const part of parts) most += typeof part === 'string' ? 3 * part.length : part.length;
  const bytes = most <= place.length ? place : Buffer.allocUnsafeSlow(most);
  let length = 0;
  for (const part of parts) {
    if (typeof part === 'string') length += bytes.write(part, length);
    else {
      bytes.set(part, length);
      length += part.length;
    }
  }
  return bytes.subarray(0, length);
}
