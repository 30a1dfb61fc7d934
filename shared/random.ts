/** The digits of base62. */
export const BASE62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

/** Returns the given number of cryptographically random bytes. Tests replace it. */
export type Random = (bytes: number) => Uint8Array;

/** The machine's cryptographic randomness. */
export const systemRandom: Random = (bytes) => crypto.getRandomValues(new Uint8Array(bytes));

/** Returns `length` random base62 characters, each of the 62 equally likely. */
export function randomBase62(length: number, random: Random): string {
  return randomText(BASE62, length, random);
}

/**
 * Returns `length` random characters of an alphabet of at most 256, each equally likely. To avoid modulo bias, it discards bytes
 * from the largest multiple of the alphabet's size on (for 62 characters, 248 and above).
 */
export function randomText(alphabet: string, length: number, random: Random): string {
  const end = 256 - (256 % alphabet.length);
  let text = '';
  while (text.length < length) {
    for (const byte of random(length)) {
      if (byte < end) text += alphabet[byte % alphabet.length];
    }
  }
  return text.slice(0, length);
}
