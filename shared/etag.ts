/**
 * Bun 1.4.5 uses 32 bits of a seed. Other seeds would change every tag, and each client would fetch everything once
 * more.
 */
const SEEDS = [0x706c6b31n, 0x9e3779b9n] as const;

/**
 * The strong entity tag of a body (RFC 9110, section 8.8.3): 128 bits of xxHash3, which take a twentieth of the time of a
 * SHA-256. It depends on the bytes alone: a text has the tag of its UTF-8. Unlike SHA-256, xxHash3 does not stop somebody
 * from making two texts with one tag on purpose. They can do so with their own profile only, and then clients that have the
 * first text may not see the second.
 */
export function etagOf(body: string | Uint8Array<ArrayBuffer>): string {
  bits[0] = Bun.hash.xxHash3(body, SEEDS[0]);
  bits[1] = Bun.hash.xxHash3(body, SEEDS[1]);
  return `"${bitsAsBytes.toString('base64url')}"`;
}

const bits = new BigUint64Array(2);
const bitsAsBytes = Buffer.from(bits.buffer);
