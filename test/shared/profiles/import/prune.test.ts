import { describe, expect, test } from 'bun:test';
import { importProfiles } from '../../../../shared/profiles/import/import.ts';
import type { PruneOptions } from '../../../../shared/profiles/import/prune.ts';
import { issue, waitingWhile } from '../../../support/keys.ts';
import { eraseProfile, IMPORT_OPTIONS, importLines, insertProfile, namesById } from '../../../support/profiles.ts';
import { onBox, testClock, testDeps } from '../../../support/world.ts';

const profiles = (count: number) => Array.from({ length: count }, (_, at) => ({ id: at + 1, username: `u${at + 1}` }));

async function world(count: number) {
  const deps = testDeps({ clock: testClock() });
  await importLines(deps, profiles(count));
  return deps;
}

const pruning = (limitPercent: number, confirm: PruneOptions['confirm'] = async () => true) => ({
  prune: { limitPercent, confirm },
});

describe.each([false, true])('pruning, strict %p', (strict) => {
  test('erases the profiles missing from the file, with their keys, and no others', async () => {
    const deps = await world(20);
    deps.db.$client.run("UPDATE profiles SET email = 'u20@example.org' WHERE id = 20");
    const { identifier } = await issue(deps, { profile: 'u20' });
    const lines = [...profiles(18), { id: 19, deleted: true }, { id: 21, username: 'new' }];
    const { imported, deleted, pruned } = await importLines(deps, lines, { strict, ...pruning(10) });
    expect({ imported, deleted, pruned }).toEqual({ imported: 19, deleted: 1, pruned: 1 });
    expect(Object.keys(await namesById(deps)).map(Number)).toEqual([...profiles(18).map(({ id }) => id), 21]);
    const key = deps.db.$client.query('SELECT state, profile_id FROM api_keys WHERE identifier = ?').get(identifier);
    expect(key).toEqual({ state: 'revoked', profile_id: null });
    expect(deps.db.$client.query("SELECT 1 FROM facts WHERE name = 'vacuum wanted'").get()).not.toBeNull();
  });

  test('erases nothing if the file may be truncated', async () => {
    const deps = await world(20);
    const text = profiles(19)
      .map((line) => JSON.stringify(line))
      .join('\n');
    const options = { ...IMPORT_OPTIONS, strict, ...pruning(100) };
    const outcome = await importProfiles(deps, [Buffer.from(text)], options);
    expect([outcome.imported, outcome.pruned]).toEqual([19, 0]);
    expect(outcome.details.notPruned).toContain('does not end in a line feed');
  });
});

test('pruning erases up to the limit, a share of the profiles that existed before', async () => {
  const more = Array.from({ length: 50 }, (_, at) => ({ id: 100 + at, username: `more${at}` }));
  for (const [named, pruned, notPruned] of [
    [18, 2, null],
    [17, 0, '3 of the 20 profiles are not in the file, and --prune-limit allows 10%'],
  ] as const) {
    const deps = await world(20);
    const outcome = await importLines(deps, [...profiles(named), ...more], pruning(10));
    expect(outcome.pruned).toBe(pruned);
    expect(outcome.details.notPruned).toBe(notPruned === null ? null : `Nothing was pruned: ${notPruned}.`);
    expect(Object.keys(await namesById(deps))).toHaveLength(70 - pruned);
  }
});

test('pruning spares profiles that were changed, or erased and made again, while the person was asked', async () => {
  const deps = await world(20);
  const asked: number[] = [];
  const confirm: PruneOptions['confirm'] = async (count) => {
    asked.push(count);
    eraseProfile(deps, 'u19', onBox('other'));
    eraseProfile(deps, 'u20', onBox('other'));
    insertProfile(deps.db, { id: 20, username: 'new' });
    return true;
  };
  const { pruned } = await importLines(deps, profiles(17), pruning(100, confirm));
  expect([asked, pruned]).toEqual([[3], 1]);
  expect(Object.keys(await namesById(deps)).map(Number)).toEqual([...profiles(17).map(({ id }) => id), 20]);
});

test('pruning never erases a new profile that got an id while it waited for the write lock', async () => {
  const deps = await world(20);
  let isConfirmed = false;
  const late = waitingWhile(
    deps,
    () => {
      eraseProfile(deps, 'u20', onBox('other'));
      insertProfile(deps.db, { id: 20, username: 'new' });
    },
    () => isConfirmed,
  );
  const confirm = async () => {
    isConfirmed = true;
    return true;
  };
  const { pruned, refused } = await importLines(late, profiles(18), pruning(100, confirm));
  expect([pruned, refused]).toEqual([1, []]);
  expect((await namesById(deps))[20]).toEqual(['new']);
});

test('pruning asks for confirmation with the number of profiles, and erases none if declined', async () => {
  const deps = await world(20);
  const asked: number[] = [];
  const say = (answer: boolean) =>
    pruning(100, async (count) => {
      asked.push(count);
      return answer;
    });
  expect(await importLines(deps, profiles(17), say(false))).toMatchObject({ pruned: 0 });
  expect(await importLines(deps, profiles(17), say(true))).toMatchObject({ pruned: 3 });
  // Now there is nothing to erase, and nothing to ask.
  expect(await importLines(deps, profiles(17), say(false))).toMatchObject({ pruned: 0 });
  expect(asked).toEqual([3, 3]);
});

test('a refused line prevents pruning, whatever the reason', async () => {
  for (const bad of ['nonsense', { id: 30, username: 'u1' }, { id: 31 }]) {
    const deps = await world(20);
    const outcome = await importLines(deps, [...profiles(19), bad], pruning(100));
    expect([outcome.imported, outcome.pruned]).toEqual([19, 0]);
    expect(outcome.details.notPruned).toBe('Nothing was pruned: lines were refused.');
  }
});

test('a merging import prunes too, and does not erase a profile added in the meantime', async () => {
  const deps = await world(3);
  let asked = false;
  const confirm = async () => {
    asked = true;
    // Added by another import during the prompt.
    insertProfile(deps.db, { id: 9, username: 'other' });
    return true;
  };
  const outcome = await importLines(deps, [{ id: 1 }, { id: 2, viewsCount: 1 }], {
    merge: true,
    ...pruning(50, confirm),
  });
  expect([asked, outcome.pruned]).toEqual([true, 1]);
  expect(deps.db.$client.query('SELECT id FROM profiles ORDER BY id').values()).toEqual([[1], [2], [9]]);
});
