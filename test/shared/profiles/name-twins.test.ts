import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { foldName, nameFault } from '../../../shared/profiles/name.ts';
import { importLines, namesById } from '../../support/profiles.ts';
import { rounds } from '../../support/rounds.ts';
import { testDeps } from '../../support/world.ts';

// Names that differ only in spelling are the same name.

/** Pieces that have the same folded form, or look as if they did. */
const PIECES = [
  ...['a', 'A', 'ａ', 'Ａ', 'ª', 'ᵃ', '𝐀', '𝔞', 'а', 'α'], // Latin, full-width, superscript, mathematical; Cyrillic, Greek
  ...['s', 'S', 'ſ', 'ß', 'ẞ', 'ss', 'SS', 'ς', 'σ', 'Σ'],
  ...['i', 'I', 'İ', 'ı', 'i\u0307', 'Ⅰ', 'ﬁ', 'fi', 'Å', 'Å', 'A\u030a', 'å'],
  ...[
    'é',
    'e\u0301',
    'É',
    'E\u0301',
    'ﬀ',
    'ff',
    'K',
    'k',
    'Ω',
    'Ω',
    'ω',
    'ϒ\u0308',
    'ϔ',
    'q\u0323\u0307',
    'q\u0307\u0323',
  ],
  ...[
    '½',
    '1⁄2',
    '２',
    '2',
    '²',
    '℀',
    '℃',
    '°C',
    '…',
    '...',
    ' ',
    '\u00a0',
    '\u3000',
    '-',
    '‑',
    '\u200d',
    '\u00ad',
    '\u202e',
  ],
];

const name = fc.array(fc.constantFrom(...PIECES), { minLength: 1, maxLength: 3 }).map((pieces) => pieces.join(''));

/** Another spelling of a name: normalised, and perhaps upper-cased, lower-cased or full-width. */
const respelled = fc.tuple(name, fc.constantFrom('NFC', 'NFD', 'NFKC', 'NFKD'), fc.nat(3)).map(([text, form, how]) => {
  const normal = text.normalize(form);
  if (how === 0) return normal.toUpperCase();
  if (how === 1) return normal.toLowerCase();
  if (how === 2)
    return normal.replace(/[!-~]/g, (letter) => String.fromCodePoint((letter.codePointAt(0) as number) + 0xfee0));
  return normal;
});

test('two names with the same folded form never coexist, however they are spelled', async () => {
  const deps = testDeps();
  const line = fc.record({
    id: fc.integer({ min: 1, max: 6 }),
    username: fc.oneof(name, respelled),
    aliases: fc.array(fc.oneof(name, respelled), { maxLength: 2 }),
  });
  let refusals = 0;
  let imports = 0;
  await fc.assert(
    fc.asyncProperty(
      fc.array(line, { minLength: 1, maxLength: 8 }),
      fc.boolean(),
      fc.boolean(),
      async (lines, strict, merge) => {
        const { refused, imported } = await importLines(deps, lines, { strict, merge });
        refusals += refused.length;
        imports += imported;
        const held = Object.values(await namesById(deps)).flat();
        const folded = held.map(foldName);
        expect(new Set(folded).size).toBe(folded.length);
        for (const text of held) expect(nameFault(text)).toBeNull();
        // The database itself guarantees this, whatever the program does.
        const stored = deps.db.$client.query('SELECT folded, name FROM profile_names ORDER BY folded').values() as [
          string,
          string,
        ][];
        expect(stored.map(([, spelled]) => foldName(spelled))).toEqual(stored.map(([of]) => of));
      },
    ),
    { numRuns: rounds(63) },
  );
  expect(Math.min(refusals, imports)).toBeGreaterThan(rounds(13));
});

test('another spelling of an existing name is refused, and the reason says which profile has it', async () => {
  const deps = testDeps();
  await fc.assert(
    fc.asyncProperty(name, respelled, async (one, other) => {
      fc.pre(nameFault(one) === null && nameFault(other) === null);
      await importLines(deps, [
        { id: 1, deleted: true },
        { id: 2, deleted: true },
      ]);
      const { refused } = await importLines(deps, [
        { id: 1, username: one },
        { id: 2, username: other },
      ]);
      const alike = foldName(one) === foldName(other);
      const reason = `the name "${other}" is held by profile 1`;
      expect(refused).toEqual(alike ? [{ line: 2, id: 2, field: 'username', reason }] : []);
    }),
    { numRuns: rounds(30) },
  );
});

const FORBIDDEN = /[\p{Cc}\p{Cs}\p{Default_Ignorable_Code_Point}\p{Bidi_Control}/]/u;

/** Emoji and Persian need these; they are not in folded names. */
const ALLOWED = ['\u200c', '\u200d', '\ufe0e', '\ufe0f'];

/** Unassigned and private-use characters, which are most code points. They fold to themselves. */
const UNASSIGNED = /[\p{Cn}\p{Co}]/u;

/** All characters in blocks of 256, without unassigned ones that are not forbidden. */
function blocks(): string[][] {
  const all = Array.from({ length: 0x1100 }, (_, block) =>
    Array.from({ length: 256 }, (_, at) => String.fromCodePoint(256 * block + at)),
  );
  return all.map((letters) => letters.filter((letter) => !UNASSIGNED.test(letter) || FORBIDDEN.test(letter)));
}

test('no allowed character folds to a forbidden one, and folding a folded character changes nothing', () => {
  const offences: string[] = [];
  for (const letter of blocks().flat()) {
    const name = `U+${letter.codePointAt(0)?.toString(16)}`;
    const folded = foldName(letter);
    if (foldName(folded) !== folded) offences.push(`${name} folds differently the second time`);
    const accepted = nameFault(`a${letter}b`) === null;
    const isAllowed = ALLOWED.includes(letter) || !FORBIDDEN.test(letter);
    if (accepted && (!isAllowed || FORBIDDEN.test(foldName(`a${letter}b`)))) offences.push(name);
  }
  expect(offences).toEqual([]);
});
