/** A part of a response body: a string, or UTF-8 bytes. */
export type Part = string | Uint8Array;

/** A response body; {@link bodyOf} says how long its bytes are valid. */
export type Body = Uint8Array<ArrayBuffer>;

/**
 * The maximum size of a response with several profiles: a page of the leaderboard ends before it, and a larger batch
 * lookup is refused. The response for a single profile may be larger.
 */
export const MAX_BODY_BYTES = 1024 * 1024;

/** The buffer shared by all bodies up to a third of its size. The system provides memory only for its used pages. */
const shared = Buffer.allocUnsafeSlow(1024 * 1024);

/**
 * Joins the parts of a body. The result may be in a buffer that the next call overwrites, so make the Response first:
 * it copies the bytes (Fetch, "extract a body"). New memory for each body would be allocated faster than the garbage
 * collector frees it, and would take as long as the rest of the response.
 */
export function bodyOf(parts: readonly Part[]): Body {
  let maxBytes = 0;
  // A UTF-16 unit takes at most three bytes.
  for (const part of parts) maxBytes += typeof part === 'string' ? 3 * part.length : part.length;
  const bytes = maxBytes <= shared.length ? shared : Buffer.allocUnsafeSlow(maxBytes);
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
