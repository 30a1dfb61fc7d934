import { expect, test } from 'bun:test';
import fc from 'fast-check';
import type { Deps } from '../../../../shared/deps.ts';
import { exportText, importLines, namesById } from '../../../support/profiles.ts';
import { rounds } from '../../../support/rounds.ts';
import { testDeps } from '../../../support/world.ts';

/** The number of lines that fill the first batches, which are larger than later ones. */
const FILLING = 510;
const FILLER = { id: 1_000_000, username: 'filler' };

/** Imports with a clock by which each line takes a second, so that batches soon shrink to one line. */
async function importOneByOne(deps: Deps, lines: readonly object[]) {
  let ms = 0;
  const monotonicMs = () => {
    ms += 1_000;
    return ms;
  };
  const clock = { ...deps.clock, monotonicMs };
  const outcome = await importLines({ ...deps, clock }, [...Array(FILLING).fill(FILLER), ...lines]);
  const names = await namesById(deps);
  delete names[FILLER.id];
  return { ...outcome, imported: outcome.imported - FILLING, names };
}

const named = (...usernames: string[]) => usernames.map((username, at) => ({ id: at + 1, username }));

test('lines in different batches are refused if no line frees the name, as are lines that depend on them; the reason names the other profile', async () => {
  const deps = testDeps();
  await importLines(deps, named('ada', 'bob', 'eve'));
  const lines = [
    { id: 1, username: 'eve' }, // profile 3 keeps it
    { id: 2, username: 'ada' }, // so profile 1 keeps it
    { id: 4, username: 'bob' }, // so profile 2 keeps it
  ];
  const { imported, refused, names } = await importOneByOne(deps, lines);
  expect([imported, refused]).toEqual([
    0,
    [
      { line: FILLING + 1, id: 1, field: 'username', reason: 'the name "eve" is held by profile 3' },
      { line: FILLING + 2, id: 2, field: 'username', reason: 'the name "ada" is held by profile 1' },
      { line: FILLING + 3, id: 4, field: 'username', reason: 'the name "bob" is held by profile 2' },
    ],
  ]);
  expect(names).toEqual({ 1: ['ada'], 2: ['bob'], 3: ['eve'] });
});

test('however names are passed around, many batches have the same result as one transaction', async () => {
  const usernames = ['a', 'b', 'c', 'd', 'e', 'f', 'g'];
  const permutation = fc.shuffledSubarray(usernames, { minLength: usernames.length });
  const ids = fc.shuffledSubarray([1, 2, 3, 4, 5, 6, 7], { minLength: 3 });
  const [one, many] = [testDeps(), testDeps()];
  await fc.assert(
    fc.asyncProperty(permutation, permutation, ids, async (before, after, order) => {
      for (const deps of [one, many]) {
        await importLines(
          deps,
          [1, 2, 3, 4, 5, 6, 7].map((id) => ({ id, deleted: true })).concat(named(...before) as never),
        );
      }
      const lines = order.map((id) => ({ id, username: after[id - 1] }));
      const strict = await importLines(one, lines, { strict: true });
      const { refused, names } = await importOneByOne(many, lines);
      // One transaction refuses the whole file, while many batches leave out lines.
      expect(refused.length > 0).toBe(strict.refused.length > 0);
      if (refused.length === 0) expect(names).toEqual(await namesById(one));
    }),
    { numRuns: rounds(7) },
  );
}, 30_000);

test('very many lines of one profile that wait for a name are applied in their order', async () => {
  const deps = testDeps();
  await importLines(deps, named('ada', 'bob'));
  const lines = Array.from({ length: 3_000 }, (_, viewsCount) => ({ id: 2, username: 'ada', viewsCount }));
  expect(await importLines(deps, [...lines, { id: 1, username: 'eve' }])).toMatchObject({
    imported: 3_001,
    refused: [],
  });
  expect((await exportText(deps)).split('\n')[1]).toContain('"viewsCount":2999');
  expect(await namesById(deps)).toEqual({ 1: ['eve'], 2: ['ada'] });
}, 30_000);
