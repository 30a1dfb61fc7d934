import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { table } from '../../../cli/terminal/output.ts';

const HEADS = ['Identifier', 'Name', 'Permissions'];

test('on a terminal every row fits its line, and identifiers stay whole', () => {
  const cell = fc.string({ unit: 'grapheme', maxLength: 60 });
  fc.assert(
    fc.property(
      fc.array(fc.tuple(cell, cell), { minLength: 1 }),
      fc.integer({ min: 40, max: 120 }),
      (rows, columns) => {
        const text = table(
          HEADS,
          rows.map(([name, permissions]) => ['k7Qm2XaB', name, permissions]),
          columns,
        );
        for (const line of text.split('\n')) expect(Bun.stringWidth(line)).toBeLessThanOrEqual(columns);
        expect(text.match(/k7Qm2XaB/g)?.length).toBeGreaterThanOrEqual(rows.length);
      },
    ),
  );
});

test('off a terminal nothing is cut', () => {
  expect(table(HEADS, [['k7Qm2XaB', 'x'.repeat(300), 'api.lookup']], 0)).toContain('x'.repeat(300));
});
