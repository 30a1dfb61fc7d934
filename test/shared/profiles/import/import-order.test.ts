import { expect, test } from 'bun:test';
import fc from 'fast-check';
import type { Deps } from '../../../../shared/deps.ts';
import { importLines } from '../../../support/import.ts';
import { rounds } from '../../../support/rounds.ts';
import { byId, IDS, type Line, linesOf, modelOf, storedProfiles } from '../../../support/storage/import-model.ts';
import { testDeps } from '../../../support/world.ts';

// Where a batch ends depends on the speed of the machine. The result of an import must not.

/** These lines fill the first batches, which become smaller if all are slow: the eighth has one line. */
const FIRST = { batches: 8, lines: 250 + 125 + 62 + 31 + 15 + 7 + 3 + 1 };
const FILLER = { id: 1_000_000, username: 'filler' };

/**
 * Imports in batches with sizes according to `isSlow`: half as many lines after a slow batch, twice as many after a
 * fast one.
 */
async function importInPieces(deps: Deps, lines: readonly Line[], merge: boolean, isSlow: readonly boolean[]) {
  let calls = 0;
  let ms = 0;
  const monotonicMs = () => {
    const batch = Math.floor(calls / 2);
    // A batch reads the time before and after.
    if (calls % 2 === 1 && (batch < FIRST.batches || (isSlow[batch - FIRST.batches] ?? true))) ms += 1_000;
    calls++;
    return ms;
  };
  const clock = { ...deps.clock, monotonicMs };
  const outcome = await importLines({ ...deps, clock }, [...Array(FIRST.lines).fill(FILLER), ...lines], { merge });
  const refused = outcome.refused.map(({ line }) => line - FIRST.lines - 1);
  return { refused, imported: outcome.imported - FIRST.lines, deleted: outcome.deleted + outcome.details.notThere };
}

for (const merge of [true, false]) {
  test(`wherever batches end, the result is the same as line by line, merge ${merge}`, async () => {
    const deps = testDeps();
    const speeds = fc.array(fc.boolean(), { maxLength: 14 });
    await fc.assert(
      fc.asyncProperty(linesOf(merge), speeds, async (lines, isSlow) => {
        await importLines(
          deps,
          IDS.map((one) => ({ id: one, deleted: true })),
        );
        const numbered = lines.map((one, number) => ({ ...one, number }));
        const { refused, imported, deleted } = await importInPieces(deps, lines, merge, isSlow);
        const whole = modelOf(numbered, merge);
        // No line is refused that all lines together make possible.
        if (whole.isPossible) expect(refused).toEqual(whole.faulty);
        // And refused lines have no effect.
        const rest = numbered.filter(({ number }) => !refused.includes(number));
        const model = modelOf(rest, merge);
        expect([model.isPossible, model.faulty]).toEqual([true, []]);
        expect(await storedProfiles(deps)).toEqual(byId(model.profiles.values()));
        expect(imported).toBe(rest.filter((one) => one.deleted === undefined).length);
        expect(deleted).toBe(rest.length - imported);
      }),
      { numRuns: rounds(100) },
    );
  }, 120_000);
}

// The waiting line and the one after it are in two batches, in the same one, and together with all others.
for (const isSlow of [[], [false, true], [false, false]]) {
  test(`of a line that waits for a name, only the fields that a later line sets are replaced, ${isSlow.length}, ${isSlow[1]}`, async () => {
    const deps = testDeps();
    const lines = [
      { id: 1, username: 'ada' },
      { id: 2, username: 'bob' },
      { id: 2, username: 'ada', viewsCount: 1, displayName: 'B' },
      { id: 2, viewsCount: 2 },
      { id: 1, username: 'countess' },
    ];
    await importLines(deps, lines.slice(0, 2));
    expect(await importInPieces(deps, lines.slice(1), true, isSlow)).toMatchObject({ imported: 4, refused: [] });
    expect(await storedProfiles(deps)).toMatchObject([
      { id: 1, username: 'countess' },
      { id: 2, username: 'ada', viewsCount: 2, displayName: 'B' },
    ]);
  });
}

test('if a line that waits for a name is refused in the end, later lines for the same profile are imported', async () => {
  const deps = testDeps();
  await importLines(deps, [{ id: 1, username: 'ada' }]);
  const lines = [
    { id: 2, username: 'bob' },
    { id: 2, username: 'ada', viewsCount: 1 },
    { id: 2, displayName: 'B' },
  ];
  expect(await importInPieces(deps, lines, true, [])).toMatchObject({ imported: 2, refused: [1] });
  expect(await storedProfiles(deps)).toMatchObject([
    { id: 1 },
    { id: 2, username: 'bob', viewsCount: 0, displayName: 'B' },
  ]);
});
