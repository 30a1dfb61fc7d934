import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { importLines, namesById } from '../../../support/profiles.ts';
import { rounds } from '../../../support/rounds.ts';
import { testDeps } from '../../../support/world.ts';

const ada = { id: 1, username: 'ada' };
const bob = { id: 2, username: 'bob' };

// Both kinds of import make the same promises about names; a strict import refuses the whole file instead of a line.
describe.each([false, true])('names, strict %p', (strict) => {
  test('of a later line override those of an earlier one for the same profile', async () => {
    const deps = testDeps();
    const lines = [ada, { id: 1, username: 'eve' }, { id: 2, username: 'ada' }];
    expect(await importLines(deps, lines, { strict })).toMatchObject({ imported: 3, refused: [] });
    expect(await namesById(deps)).toEqual({ 1: ['eve'], 2: ['ada'] });
  });

  test('can be swapped, and auth IDs too', async () => {
    const deps = testDeps();
    await importLines(deps, [
      { ...ada, aliases: ['x'], authId: 'auth|1' },
      { ...bob, aliases: ['y'], authId: 'auth|2' },
    ]);
    const swapped = [
      { id: 1, username: 'bob', aliases: ['y'], authId: 'auth|2' },
      { id: 2, username: 'ada', aliases: ['x'], authId: 'auth|1' },
    ];
    expect(await importLines(deps, swapped, { strict })).toMatchObject({ imported: 2, refused: [] });
    expect(await namesById(deps)).toEqual({ 1: ['bob', 'y'], 2: ['ada', 'x'] });
    expect(deps.db.$client.query('SELECT auth_id FROM profiles ORDER BY id').values()).toEqual([
      ['auth|2'],
      ['auth|1'],
    ]);
  });

  test('can be passed along a chain, in either order', async () => {
    const deps = testDeps();
    const chain = (shift: number) => Array.from({ length: 50 }, (_, i) => ({ id: i + 1, username: `n${i + shift}` }));
    for (const lines of [chain(0), chain(1), chain(2).reverse(), chain(1).reverse()]) {
      expect(await importLines(deps, lines, { strict })).toMatchObject({ imported: 50, refused: [] });
    }
    expect((await namesById(deps))[50]).toEqual(['n50']);
  });

  test('of an erased profile can be reused, both before and after the line that erases it', async () => {
    const deps = testDeps();
    await importLines(deps, [ada, bob]);
    const lines = [
      { id: 3, username: 'Ada' },
      { id: 1, deleted: true },
      { id: 2, deleted: true },
      { id: 4, username: 'Bob' },
    ];
    expect(await importLines(deps, lines, { strict })).toMatchObject({ imported: 2, deleted: 2, refused: [] });
    expect(await namesById(deps)).toEqual({ 3: ['Ada'], 4: ['Bob'] });
  });

  test('are restored with a profile that is erased and imported again', async () => {
    const deps = testDeps();
    await importLines(deps, [{ ...ada, email: 'ada@example.org' }]);
    const lines = [{ id: 1, deleted: true }, ada];
    expect(await importLines(deps, lines, { strict })).toMatchObject({ imported: 1, deleted: 1, refused: [] });
    expect(await namesById(deps)).toEqual({ 1: ['ada'] });
  });

  test('that change only their spelling stay with their profile', async () => {
    const deps = testDeps();
    await importLines(deps, [{ ...ada, aliases: ['x', 'y'] }]);
    const lines = [{ id: 1, username: 'Y', aliases: ['ADA', 'X'] }];
    expect(await importLines(deps, lines, { strict })).toMatchObject({ imported: 1, refused: [] });
    expect(await namesById(deps)).toEqual({ 1: ['Y', 'ADA', 'X'] });
  });

  test('of another profile are refused with the name and the other profile; auth IDs are not shown', async () => {
    const deps = testDeps();
    await importLines(deps, [{ ...ada, aliases: ['lovelace'], authId: 'auth0|secret' }]);
    const lines = [
      { id: 3, username: 'LoveLace' },
      { id: 4, username: 'four', authId: 'auth0|secret' },
      { id: 5, username: 'five', aliases: ['ADA'] },
    ];
    expect((await importLines(deps, lines, { strict })).refused).toMatchObject([
      { line: 1, reason: 'the name "LoveLace" is held by profile 1' },
      { line: 2, reason: 'the authId is held by profile 1' },
      { line: 3, reason: 'the name "ADA" is held by profile 1' },
    ]);
    expect(await namesById(deps)).toEqual({ 1: ['ada', 'lovelace'] });
  });

  test('that two lines claim go to the earlier line', async () => {
    const deps = testDeps();
    const { refused } = await importLines(deps, [ada, { id: 9, username: 'Ada' }], { strict });
    expect(refused).toMatchObject([{ line: 2, reason: 'the name "Ada" is held by profile 1' }]);
  });

  test('stay with a profile that already has them and keeps them, whatever the order of the lines', async () => {
    const deps = testDeps();
    await importLines(deps, [ada]);
    const { refused } = await importLines(
      deps,
      [
        { id: 9, username: 'Ada' },
        { ...ada, aliases: ['a'] },
      ],
      { strict },
    );
    expect(refused).toMatchObject([{ line: 1, reason: 'the name "Ada" is held by profile 1' }]);
  });
});

describe('refusing one line', () => {
  test('restores its profile’s old names, and refuses lines that wanted those', async () => {
    const deps = testDeps();
    await importLines(deps, [ada, bob, { id: 3, username: 'eve' }]);
    const lines = [
      { id: 1, username: 'eve' }, // held by 3
      { id: 2, username: 'ada' }, // so 1 keeps it
      { id: 4, username: 'bob' }, // so 2 keeps it
      { id: 5, username: 'new' },
    ];
    expect((await importLines(deps, lines)).refused).toMatchObject([
      { line: 1, reason: 'the name "eve" is held by profile 3' },
      { line: 2, reason: 'the name "ada" is held by profile 1' },
      { line: 3, reason: 'the name "bob" is held by profile 2' },
    ]);
    expect(await namesById(deps)).toEqual({ 1: ['ada'], 2: ['bob'], 3: ['eve'], 5: ['new'] });
  });

  test('does not undo an earlier line for the same profile', async () => {
    const deps = testDeps();
    await importLines(deps, [ada]);
    const result = await importLines(deps, [
      { ...bob, viewsCount: 5 },
      { id: 2, username: 'Ada', viewsCount: 6 },
    ]);
    expect(result).toMatchObject({ imported: 1, refused: [{ line: 2 }] });
    expect(await namesById(deps)).toEqual({ 1: ['ada'], 2: ['bob'] });
  });

  test('leaves its other names to other lines', async () => {
    const deps = testDeps();
    await importLines(deps, [ada]);
    const lines = [
      { id: 8, username: 'prize', aliases: ['ADA'] },
      { id: 9, username: 'prize' },
    ];
    expect(await importLines(deps, lines)).toMatchObject({ imported: 1, refused: [{ line: 1 }] });
    expect(await namesById(deps)).toEqual({ 1: ['ada'], 9: ['prize'] });
  });

  test('also refuses a long chain of lines that depend on it', async () => {
    const deps = testDeps();
    const length = 250;
    await importLines(
      deps,
      Array.from({ length }, (_, i) => ({ id: i + 1, username: `n${i}` })),
    );
    await importLines(deps, [{ id: 999, username: `n${length}` }]);
    const { refused } = await importLines(
      deps,
      Array.from({ length }, (_, i) => ({ id: i + 1, username: `n${i + 1}` })),
    );
    expect(refused.length).toBe(length);
  });
});

test('lines on which a refused one depends are applied nevertheless, however long the chain', async () => {
  const deps = testDeps();
  const own = Array.from({ length: 30 }, (_, at) => ({ id: at + 1, username: `n${at}` }));
  await importLines(deps, [...own, { id: 99, username: 'taken' }]);
  const [giver, ...wanting] = own.map(({ id }, at) => ({ id, username: `n${at - 1}` }));
  // The second profile takes the first one's name; from the third on, each also wants one that nobody gives up.
  const lines = wanting.map((line, at) => (at === 0 ? line : { ...line, aliases: at === 28 ? ['taken'] : [] }));
  const { refused } = await importLines(deps, [
    ...lines.slice(0, 1),
    ...lines.slice(1).reverse(),
    { ...giver, username: 'new' },
  ]);
  expect(refused).toMatchObject([{ id: 30, reason: 'the name "taken" is held by profile 99' }]);
  const names = await namesById(deps);
  expect([names[1], names[2], names[29], names[30]]).toEqual([['new'], ['n0'], ['n27'], ['n29']]);
});

test('that would hold the lock for long are refused; a strict import has it anyway', async () => {
  const deps = testDeps();
  const aliases = (id: number) => Array.from({ length: 490 }, (_, at) => `a${id}-${at}`);
  const profiles = Array.from({ length: 102 }, (_, at) => ({ id: at + 1, username: `n${at + 1}` }));
  await importLines(
    deps,
    profiles.map((one) => ({ ...one, aliases: aliases(one.id) })),
  );
  // A line that only renames a profile writes all its aliases again: the 102nd would make it more than 50,000 names.
  const swapped = profiles.map(({ id }) => ({ id, username: `n${id % 2 === 0 ? id - 1 : id + 1}` }));
  const merge = true;
  const first = await importLines(deps, swapped, { merge });
  expect([first.imported, first.refused.map(({ line }) => line)]).toEqual([100, [101, 102]]);
  // What is applied waits no more, so that the same lines come further.
  expect(await importLines(deps, swapped, { merge })).toMatchObject({ imported: 102, refused: [] });
  expect(await importLines(deps, profiles, { merge, strict: true })).toMatchObject({ imported: 102, refused: [] });
}, 30_000);

test('for any lines, names and rows agree, and all refused lines are reported', async () => {
  const name = fc.constantFrom('a', 'b', 'c', 'd');
  const line = fc.oneof(
    fc.record({ id: fc.integer({ min: 1, max: 4 }), username: name, aliases: fc.uniqueArray(name, { maxLength: 2 }) }),
    fc.record({ id: fc.integer({ min: 1, max: 4 }), deleted: fc.constant(true) }),
  );
  const deps = testDeps();
  const file = fc.array(line, { minLength: 1, maxLength: 12 });
  await fc.assert(
    fc.asyncProperty(file, fc.boolean(), fc.boolean(), async (lines, strict, merge) => {
      const { imported, refused } = await importLines(deps, lines, { strict, merge });
      const puts = lines.filter((given) => !('deleted' in given)).length;
      if (!strict) expect(imported + refused.length).toBe(puts);
      else if (refused.length > 0) expect(imported).toBe(0);
      const held = deps.db.$client
        .query(
          'SELECT count(*) FROM profiles p LEFT JOIN profile_names n ON n.profile_id = p.id AND n.position = 0 WHERE n.name IS NOT p.username',
        )
        .values();
      expect(held).toEqual([[0]]);
    }),
    { numRuns: rounds(19) },
  );
});
