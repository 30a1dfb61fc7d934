import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { etagOf } from '../../shared/etag.ts';
import { rounds } from '../support/rounds.ts';

const LENGTHS = [0, 1, 240, 241, 65_536, 200_001];

test('a string and its bytes have the same tag, whatever their length', () => {
  for (const length of LENGTHS) {
    for (const character of ['a', 'é', '★', '🌸']) {
      const text = character.repeat(Math.ceil(length / Buffer.byteLength(character)));
      const tag = etagOf(text);
      expect(tag).toMatch(/^"[\w-]{22}"$/);
      expect(etagOf(Buffer.from(text))).toBe(tag);
    }
  }
});

test('a body that differs in one byte, in its length or in the order of its parts has a different tag', () => {
  const length = fc.integer({ min: 1, max: 262_144 });
  fc.assert(
    fc.property(length, fc.nat(), (bytes, index) => {
      const body = Buffer.alloc(bytes, 'abcdefg');
      const tag = etagOf(body);
      expect(etagOf(Buffer.concat([body, Buffer.from('x')]))).not.toBe(tag);
      body[index % bytes] = 0;
      expect(etagOf(body)).not.toBe(tag);
    }),
    { numRuns: rounds(13) },
  );
  const [one, other] = [Buffer.alloc(65_536, 1), Buffer.alloc(65_536, 2)];
  expect(etagOf(Buffer.concat([one, other]))).not.toBe(etagOf(Buffer.concat([other, one])));
});

test('the tag of a body is the same in every version, so that clients need not fetch everything again', () => {
  expect(etagOf('{"links":[]}')).toBe('"EKh_7fwQu41jgcp7I55P5Q"');
});
