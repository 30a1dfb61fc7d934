import { BASE62, type Random, randomBase62, randomText } from '../random.ts';

const SECRET = /^plk_[0-9A-Za-z]{8}_[0-9A-Za-z]{38}$/;
const CHECKSUM_LENGTH = 6;

const EASILY_READ = BASE62.replace(/[0O1Il]/g, '');

/**
 * Generates an identifier: 8 base62 characters, safe to show and log. The characters `0O1Il` look alike and are left out; older
 * identifiers may contain them.
 */
export function newIdentifier(random: Random): string {
  return randomText(EASILY_READ, 8, random);
}

/** Whether a string can be the identifier of a key. */
export function isIdentifier(text: string): boolean {
  return /^[0-9A-Za-z]{8}$/.test(text);
}

/** Generates a secret: `plk_<identifier>_<32 random base62><6 base62 of the CRC-32 of the characters before it>`. */
export function newSecret(identifier: string, random: Random): string {
  const body = `plk_${identifier}_${randomBase62(32, random)}`;
  return body + checksumOf(body);
}

/** The identifier inside a well-formed secret with the right checksum, or null. Reads no database. */
export function identifierOfSecret(text: string): string | null {
  if (!SECRET.test(text)) return null;
  const end = text.length - CHECKSUM_LENGTH;
  let written = 0;
  for (let place = end; place < text.length; place++) written = written * 62 + digitOf(text.charCodeAt(place));
  return written === Bun.hash.crc32(text.slice(0, end)) ? text.slice(4, 12) : null;
}

function digitOf(code: number): number {
  if (code < 58) return code - 48;
  return code < 91 ? code - 55 : code - 61;
}

/** What looks like secrets in a text, each once. */
export function secretsIn(text: string): string[] {
  return [...new Set(text.match(/plk_[0-9A-Za-z]{8}_[0-9A-Za-z]{38}/g))];
}

/** SHA-256 of a secret, 32 bytes: the only form in which it is stored. */
export function hashSecret(secret: string): Uint8Array {
  return Bun.SHA256.hash(secret) as Uint8Array;
}

const NO_HASH = new Uint8Array(32);

/** Compares a secret with a hash in constant time; a missing hash takes the same time and never matches. */
export function secretMatches(secret: string, storedHash: Uint8Array | null): boolean {
  const equal = crypto.timingSafeEqual(hashSecret(secret), storedHash ?? NO_HASH);
  return storedHash !== null && equal;
}

/** CRC-32/IEEE of an ASCII text as 6 base62 digits, most significant first, left-padded with `0`. */
export function checksumOf(ascii: string): string {
  let rest = Bun.hash.crc32(ascii);
  let digits = '';
  for (let place = 0; place < CHECKSUM_LENGTH; place++) {
    digits = BASE62[rest % 62] + digits;
    rest = Math.floor(rest / 62);
  }
  return digits;
}
