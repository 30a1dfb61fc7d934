import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { jsonFaultAt } from '../../../../shared/profiles/edit/json-fault.ts';
import { ANY_CHARACTER } from '../../../support/input-values.ts';
import { rounds } from '../../../support/rounds.ts';

describe('the position of an error in JSON', () => {
  test('is that of the first invalid character', () => {
    for (const [text, at] of [
      ['', 0],
      ['x', 0],
      ['{"id":7', 7],
      ['{"id":7,}', 8],
      ['{"id":07}', 7],
      ["{'id':7}", 1],
      ['{"id" 7}', 6],
      ['{"id":7 "a":1}', 8],
      ['{"a":"b\u0001"}', 7],
      ['{"a":"\\x"}', 6],
      ['{"a":"b', 7],
      ['[1,2}', 4],
      ['{"a":tru}', 5],
      ['{"a":1}}', 7],
      ['{"a":NaN}', 5],
      ['[1,]', 3],
    ] as const) {
      expect([text, jsonFaultAt(text)]).toEqual([text, at]);
    }
  });

  test('is found exactly if the parser fails, and the text before it can begin valid JSON', () => {
    const damaged = fc
      .tuple(
        fc.jsonValue({ stringUnit: ANY_CHARACTER }),
        fc.nat(),
        fc.nat({ max: 2 }),
        fc.constantFrom('', ',', '"', '}', '1', '\\', ' '),
      )
      .map(([value, place, removed, added]) => {
        const text = JSON.stringify(value);
        const at = place % (text.length + 1);
        return text.slice(0, at) + added + text.slice(at + removed);
      });
    fc.assert(
      fc.property(damaged, (text) => {
        const at = jsonFaultAt(text);
        expect([text, at === null]).toEqual([text, isJson(text)]);
        if (at === null) return;
        const before = text.slice(0, at);
        expect([null, at]).toContain(jsonFaultAt(before));
      }),
      { numRuns: rounds(500) },
    );
  });

  test('is found quickly in a long and deep line', () => {
    const deep = '['.repeat(500_000);
    expect(jsonFaultAt(deep)).toBe(500_000);
    expect(jsonFaultAt(`{"a":"${'\\"x'.repeat(300_000)}`)).toBe(900_006);
  });
});

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
