/** The digits of base62, in order of their value. */
export const BASE62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

/** A function that returns the given number of cryptographically random bytes. Tests replace the function. */
export type Random = (bytes: number) => Uint8Array;

/** The machine's cryptographic randomness. */
export const systemRandom: Random = (bytes) => crypto.getRandomValues(new Uint8Array(bytes));

/**
 * Returns `length` random base62 characters, each of the 62 equally likely: bytes of 248 and more are thrown away, so
 * there is no modulo bias.
 */
export function randomBase62(length: number, random: Random): string {
  let text = '';
  while (text.length < length) {
    for (const byte of random(length - text.length)) {
      if (byte < 248) text += BASE62[byte % 62];
    }
  }
  return text;
}
