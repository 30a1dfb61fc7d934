import { timingSafeEqual } from 'node:crypto';
import type { Random } from '../random.ts';

/** A new token for a cookie: 32 random bytes as base64url (43 characters). */
export function newToken(random: Random): string {
  return Buffer.from(random(32)).toString('base64url');
}

/** The stored form of secrets and identifying texts: their SHA-256, 32 bytes. */
export function hashOf(...texts: readonly string[]): Buffer {
  // The line feed distinguishes ("a", "bc") from ("ab", "c"); no token, code or e-mail address contains one.
  return new Bun.CryptoHasher('sha256').update(texts.join('\n')).digest();
}

/** A keyed hash of texts, 32 bytes, which can't be computed without the key. The first text names its use. */
export function keyedHash(key: Uint8Array, ...texts: readonly (string | number)[]): Buffer {
  return new Bun.CryptoHasher('sha256', key).update(JSON.stringify(texts)).digest();
}

/** Whether two hashes from {@link hashOf} are equal, compared in constant time. Throws for other lengths. */
export function isSameHash(one: Uint8Array, other: Uint8Array): boolean {
  return timingSafeEqual(one, other);
}
