import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { table } from '../../../cli/terminal/output.ts';

const HEADS = ['Identifier', 'Name', 'Permissions'];

test('on a terminal every row fits into its line, and identifiers are never truncated', () => {
  const cell = fc.string({ unit: 'grapheme', maxLength: 60 });
  const fit = { omitted: ['Permissions'], truncated: ['Name'] };
  fc.assert(
    fc.property(
      fc.array(fc.tuple(cell, cell), { minLength: 1 }),
      fc.integer({ min: 24, max: 120 }),
      (rows, columns) => {
        const text = table(
          HEADS,
          rows.map(([name, permissions]) => ['k7Qm2XaB', name, permissions]),
          fit,
          columns,
        );
        for (const line of text.split('\n')) expect(Bun.stringWidth(line)).toBeLessThanOrEqual(columns);
        expect(text.match(/k7Qm2XaB/g)?.length).toBeGreaterThanOrEqual(rows.length);
      },
    ),
  );
});

test('a narrow terminal shows fewer columns, and truncates texts but never times', () => {
  const at = '2026-11-03T04:05:06.789Z';
  const rows = [['k7Qm2XaB', 'x'.repeat(300), at]];
  const fit = { omitted: ['Since'], truncated: ['Name'] };
  expect(table(['Identifier', 'Name', 'Since'], rows, fit, 60)).toContain(`${'x'.repeat(19)}…  ${at}`);
  expect(table(['Identifier', 'Name', 'Since'], rows, fit, 40)).toEndWith(`k7Qm2XaB    ${'x'.repeat(27)}…`);
});

test('without a terminal nothing is truncated', () => {
  expect(table(HEADS, [['k7Qm2XaB', 'x'.repeat(300), 'api.lookup']])).toContain('x'.repeat(300));
});
