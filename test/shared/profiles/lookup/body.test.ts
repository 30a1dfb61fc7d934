import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { bodyOf, type Part } from '../../../../shared/profiles/lookup/body.ts';
import { ANY_CHARACTER } from '../../../support/input-values.ts';
import { rounds } from '../../../support/rounds.ts';

const text = fc.string({ unit: ANY_CHARACTER, maxLength: 40 }).map((part) => part.toWellFormed());
const part: fc.Arbitrary<Part> = fc.oneof(
  text,
  text.map((each) => new TextEncoder().encode(each)),
  fc.nat(500_000).map((length) => '★'.repeat(length)),
);

test('a body is the sum of its parts, whatever their sizes and characters', () => {
  fc.assert(
    fc.property(fc.array(part, { maxLength: 8 }), (parts) => {
      expect(Buffer.compare(bodyOf(parts), Buffer.concat(parts.map((each) => Buffer.from(each))))).toBe(0);
    }),
    { numRuns: rounds(50) },
  );
});
