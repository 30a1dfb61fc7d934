import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { etagOf, etagOfPieces, hashesOf, PIECE_BYTES } from '../../shared/etag.ts';
import { rounds } from '../support/rounds.ts';

// Lengths around which the tag is made in another way: of a text that is surely short, and of one piece or several.
const LENGTHS = [
  0,
  1,
  240,
  241,
  PIECE_BYTES / 3,
  PIECE_BYTES - 1,
  PIECE_BYTES,
  PIECE_BYTES + 1,
  3 * PIECE_BYTES,
  200_001,
];

/** The tag of bytes that come in pieces, as those of an answer that is read as it is sent. */
function tagInPieces(bytes: Uint8Array): string {
  const hashes: bigint[] = [];
  for (let at = 0; at < bytes.length; at += PIECE_BYTES) hashes.push(...hashesOf(bytes.subarray(at, at + PIECE_BYTES)));
  return etagOfPieces(hashes);
}

test('a text, its bytes and its pieces have the same tag, whatever their length', () => {
  for (const length of LENGTHS) {
    for (const sign of ['a', 'é', '★', '🌸']) {
      const text = sign.repeat(Math.ceil(length / Buffer.byteLength(sign)));
      const tag = etagOf(text);
      expect(tag).toMatch(/^"[\w-]{22}"$/);
      expect(etagOf(Buffer.from(text))).toBe(tag);
      if (text !== '') expect(tagInPieces(Buffer.from(text))).toBe(tag);
    }
  }
});

test('a body that differs in one byte, in its length or in the order of its pieces has another tag', () => {
  const length = fc.integer({ min: 1, max: 4 * PIECE_BYTES });
  fc.assert(
    fc.property(length, fc.nat(), (bytes, place) => {
      const body = Buffer.alloc(bytes, 'abcdefg');
      const tag = etagOf(body);
      expect(etagOf(Buffer.concat([body, Buffer.from('x')]))).not.toBe(tag);
      body[place % bytes] = 0;
      expect(etagOf(body)).not.toBe(tag);
    }),
    { numRuns: rounds(50) },
  );
  const [one, other] = [Buffer.alloc(PIECE_BYTES, 1), Buffer.alloc(PIECE_BYTES, 2)];
  expect(etagOf(Buffer.concat([one, other]))).not.toBe(etagOf(Buffer.concat([other, one])));
});

test('the tag of a body is the same in every version, so that clients need not fetch everything anew', () => {
  expect(etagOf('{"links":[]}')).toBe('"EKh_7fwQu41jgcp7I55P5Q"');
});
