import type { Random } from '../random.ts';

/** A new token, as a cookie holds it: 32 random bytes as base64url (43 characters). */
export function newToken(random: Random): string {
  return Buffer.from(random(32)).toString('base64url');
}

/** What is stored of texts that let somebody in, or by which somebody is found again: SHA-256 of them, 32 bytes. */
export function hashOf(...texts: readonly string[]): Buffer {
  // The line feed keeps ("a", "bc") and ("ab", "c") apart; no token, code or address holds one.
  return new Bun.CryptoHasher('sha256').update(texts.join('\n')).digest();
}

/** The keyed hash of some texts, 32 bytes: what others can neither make nor guess from the texts. The first names its use. */
export function keyedHash(key: Uint8Array, ...texts: readonly (string | number)[]): Buffer {
  return new Bun.CryptoHasher('sha256', key).update(JSON.stringify(texts)).digest();
}

/** Whether two hashes are the same bytes. */
export function isSameHash(one: Uint8Array, other: Uint8Array): boolean {
  return Buffer.compare(one, other) === 0;
}
