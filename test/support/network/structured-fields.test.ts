import { describe, expect, test } from 'bun:test';
import { parseItems } from './structured-fields.ts';

const item = (value: unknown, parameters: Record<string, unknown> = {}) => ({
  value,
  parameters: new Map(Object.entries(parameters)),
});

describe('a list of items', () => {
  const good: [string, unknown[]][] = [
    ['"1m";q=60;w=60', [item('1m', { q: 60, w: 60 })]],
    [
      ' "a\\"\\\\b" ,\ttok;x;y=?0, -12, 4.125 ',
      [item('a"\\b'), item({ token: 'tok' }, { x: true, y: false }), item(-12), item(4.125)],
    ],
    ['1;  a="b"', [item(1, { a: 'b' })]],
  ];
  for (const [field, items] of good) test(field, () => expect(parseItems(field)).toEqual(items as never));

  const bad = [
    '',
    ',',
    '1,',
    '1 2',
    '"a',
    '"é"',
    '1;A=1',
    '1;=1',
    '1; a = 1',
    '1;a=1;a=2',
    '1.',
    '1.2345',
    '1'.repeat(16),
    '(1 2)',
    '?2',
    '\t1',
    "'a'",
  ];
  for (const field of bad) {
    test(`${JSON.stringify(field)} is refused`, () => expect(() => parseItems(field)).toThrow());
  }
});
