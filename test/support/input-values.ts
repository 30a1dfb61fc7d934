import fc from 'fast-check';
import type { InputKind } from '../../shared/keys/inputs.ts';

// Values for the inputs of operations, so that tests loop over the table and include new inputs.

const HOUR_MS = 3_600_000;
const LATER_MS = Date.parse('2126-01-31T00:00:00Z');

/** Different values that a field of each kind can have. */
export const VALUES: Readonly<Record<InputKind, readonly [unknown, unknown, ...unknown[]]>> = {
  line: ['One', 'Two'],
  lines: ['It is not needed.', 'It is not needed!'],
  url: ['https://example.org/one', 'https://example.org/two'],
  permissions: [['api.lookup'], ['api.leaderboard'], ['api.lookup', 'api.leaderboard']],
  'rate limits': [
    [{ quota: 60, windowSeconds: 60 }],
    [{ quota: 61, windowSeconds: 60 }],
    [{ quota: 60, windowSeconds: 3600 }],
    [
      { quota: 60, windowSeconds: 60 },
      { quota: 5, windowSeconds: 3600 },
    ],
  ],
  time: [LATER_MS, LATER_MS + HOUR_MS, null],
  number: [1, 2],
  states: [['pending'], ['Active']],
  hidden: ['one', 'two'],
};

/**
 * Any character, surrogates only in pairs. fast-check's unit `binary` is the same, but first lists all of them, which takes a
 * second, and memory until the process ends.
 */
export const ANY_CHARACTER = fc.nat(0x10ffff - 0x800).map(
  (at) => String.fromCodePoint(at < 0xd800 ? at : at + 0x800),
  (text) => {
    const code = typeof text === 'string' && text.isWellFormed() ? (text.codePointAt(0) as number) : -1;
    if (code < 0 || text !== String.fromCodePoint(code)) throw new Error('This is not one character.');
    return code < 0xd800 ? code : code - 0x800;
  },
);
