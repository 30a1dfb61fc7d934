import { expect, test } from 'bun:test';
import { createHash } from 'node:crypto';
import fc from 'fast-check';
import {
  hashSecret,
  identifierOfSecret,
  newIdentifier,
  newSecret,
  secretMatches,
} from '../../../shared/keys/secret.ts';
import { randomBase62, systemRandom } from '../../../shared/random.ts';

const identifiers = fc.stringMatching(/^[0-9A-Za-z]{8}$/);

test('a secret has the format that scanners look for, and contains its identifier', () => {
  fc.assert(
    fc.property(identifiers, (identifier) => {
      const secret = newSecret(identifier, systemRandom);
      expect(secret).toMatch(/^plk_[0-9A-Za-z]{8}_[0-9A-Za-z]{38}$/);
      expect(`(${secret}).`).toMatch(/\bplk_[0-9A-Za-z]{8}_[0-9A-Za-z]{38}\b/);
      expect(identifierOfSecret(secret)).toBe(identifier);
    }),
  );
});

test('the checksum is the CRC-32/IEEE of all characters before it, in base62 with leading zeros', () => {
  // All-zero randomness makes a secret that can be checked by hand: CRC-32 of "plk_00000000_000…0" (45 characters).
  const secret = newSecret('00000000', (bytes) => new Uint8Array(bytes));
  const body = `plk_00000000_${'0'.repeat(32)}`;
  expect(secret.startsWith(body)).toBe(true);
  const digits = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
  const value = [...secret.slice(body.length)].reduce((sum, digit) => sum * 62 + digits.indexOf(digit), 0);
  expect(value).toBe(referenceCrc32(body));
  expect(referenceCrc32('123456789')).toBe(0xcbf43926);
});

/** CRC-32 bit by bit, from its definition, so that it shares nothing with the code under test. */
function referenceCrc32(text: string): number {
  let crc = 0xffffffff;
  for (const byte of Buffer.from(text, 'ascii')) {
    crc ^= byte;
    for (let bit = 0; bit < 8; bit++) crc = (crc >>> 1) ^ (crc & 1 ? 0xedb88320 : 0);
  }
  return (crc ^ 0xffffffff) >>> 0;
}

test('one mistyped character, or two swapped neighbours, is detected', () => {
  fc.assert(
    fc.property(identifiers, fc.nat(50), fc.stringMatching(/^[0-9A-Za-z]$/), (identifier, index, typed) => {
      const secret = newSecret(identifier, systemRandom);
      const mistyped = secret.slice(0, index) + typed + secret.slice(index + 1);
      if (mistyped !== secret) expect(identifierOfSecret(mistyped)).toBeNull();
      const swapped =
        secret.slice(0, index) + (secret[index + 1] ?? '') + (secret[index] ?? '') + secret.slice(index + 2);
      if (swapped !== secret) expect(identifierOfSecret(swapped)).toBeNull();
    }),
  );
});

test('no other text passes for a secret', () => {
  const secret = newSecret('k7Qm2XaB', systemRandom);
  for (const text of ['', 'plk_', secret.slice(1), `${secret}\n`, ` ${secret}`, secret.toUpperCase(), `${secret}0`]) {
    expect(identifierOfSecret(text)).toBeNull();
  }
});

test('randomness is uniform over the alphabet: bytes that would favour its first characters are discarded', () => {
  const bytes = [255, 248, 247, 0, 61, 62];
  const text = randomBase62(4, (count) => Uint8Array.from(bytes.splice(0, count)));
  expect(text).toBe('z0z0');
});

/** Randomness that returns the given bytes first, and then all bytes in turn. */
function replaying(bytes: readonly number[]) {
  let next = 0;
  return (count: number) => Uint8Array.from({ length: count }, () => bytes[next++] ?? next % 256);
}

test('a new identifier has 8 characters that don’t look alike, whatever the randomness', () => {
  fc.assert(
    fc.property(fc.array(fc.nat(255), { maxLength: 40 }), (bytes) => {
      expect(newIdentifier(replaying(bytes))).toMatch(/^[2-9A-HJ-NP-Za-km-z]{8}$/);
    }),
  );
});

test('each of the 57 characters of new identifiers results from the same number of bytes; other bytes are discarded', () => {
  const counts = new Map<string, number>();
  let thrownAway = 0;
  for (let byte = 0; byte < 256; byte++) {
    let calls = 0;
    const identifier = newIdentifier((count) => new Uint8Array(count).fill(calls++ === 0 ? byte : 0));
    if (calls > 1) thrownAway++;
    else counts.set(identifier, (counts.get(identifier) ?? 0) + 1);
  }
  const alphabet = [...'23456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz'];
  expect([...counts.keys()].sort()).toEqual(alphabet.map((character) => character.repeat(8)));
  expect(new Set(counts.values())).toEqual(new Set([4]));
  expect(thrownAway).toBe(256 - 57 * 4);
});

test('new identifiers from the machine’s randomness contain each of the 57 characters equally often', () => {
  const counts = new Map<string, number>();
  const each = 2000;
  for (let made = 0; made < (57 * each) / 8; made++) {
    for (const character of newIdentifier(systemRandom)) counts.set(character, (counts.get(character) ?? 0) + 1);
  }
  expect(counts.size).toBe(57);
  const chiSquared = [...counts.values()].reduce((sum, count) => sum + (count - each) ** 2 / each, 0);
  // With 56 degrees of freedom, uniform randomness exceeds 170 less than once in 10^12 runs; modulo bias makes it over 1000.
  expect(chiSquared).toBeLessThan(170);
});

test('a hash is the SHA-256 of a secret, and only that secret matches it', () => {
  const secret = newSecret('k7Qm2XaB', systemRandom);
  const hash = hashSecret(secret);
  expect(Buffer.from(hash).toString('hex')).toBe(createHash('sha256').update(secret, 'ascii').digest('hex'));
  expect(secretMatches(secret, hash)).toBe(true);
  expect(secretMatches(newSecret('k7Qm2XaB', systemRandom), hash)).toBe(false);
  expect(secretMatches(secret, null)).toBe(false);
});
