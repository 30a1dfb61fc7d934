import { describe, expect, test } from 'bun:test';
import { exportProfile } from '../../../../shared/profiles/export.ts';
import { changeByHand, importLines, namesById } from '../../../support/profiles.ts';
import { testClock, testDeps } from '../../../support/world.ts';

const ADA = { id: 7, username: 'Ada' };

function world() {
  const clock = testClock();
  const deps = testDeps({ clock });
  const profile = (uid = 7) => exportProfile(deps.db, { uid });
  return { deps, clock, profile };
}

describe.each([false, true])('a line without banned, aliases and createdAt, strict %p', (strict) => {
  test('keeps a ban, an alias and the date, and replaces the rest', async () => {
    const { deps, clock, profile } = world();
    const createdAt = '2020-05-01T00:00:00.000Z';
    await importLines(deps, [{ ...ADA, createdAt, viewsCount: 3, email: 'ada@example.org' }], { strict });
    changeByHand(deps, 'ada', { banned: true });
    changeByHand(deps, 'ada', { aliases: ['lovelace'] });
    clock.advance(86_400_000);
    await importLines(deps, [{ id: 7, username: 'Countess', viewsCount: 5 }], { strict });
    expect(profile()).toMatchObject({ username: 'Countess', aliases: ['lovelace'], banned: true, createdAt });
    expect(profile()).toMatchObject({ viewsCount: 5, email: null, displayName: 'Countess' });
  });

  test('can turn an alias into the username, which is then no longer an alias', async () => {
    const { deps } = world();
    await importLines(deps, [{ ...ADA, aliases: ['lovelace', 'countess'] }], { strict });
    await importLines(deps, [{ id: 7, username: 'Lovelace' }], { strict });
    expect(await namesById(deps)).toEqual({ 7: ['Lovelace', 'countess'] });
  });

  test('keeps its alias even if another line wants it', async () => {
    const { deps } = world();
    await importLines(deps, [{ ...ADA, aliases: ['lovelace'] }], { strict });
    const { refused } = await importLines(deps, [{ id: 8, username: 'Lovelace' }, ADA], { strict });
    expect(refused).toEqual([
      { line: 1, id: 8, field: 'username', reason: 'the name "Lovelace" is held by profile 7' },
    ]);
  });

  test('uses the defaults if an earlier line erased the profile', async () => {
    const { deps, profile } = world();
    await importLines(deps, [{ ...ADA, banned: true, aliases: ['x'] }], { strict });
    await importLines(deps, [{ id: 7, deleted: true }, ADA], { strict });
    expect(profile()).toMatchObject({ banned: false, aliases: [] });
  });
});

test('a line that contains them sets them', async () => {
  const { deps, profile } = world();
  await importLines(deps, [{ ...ADA, banned: true, aliases: ['x'] }]);
  const given = { banned: false, aliases: ['y'], createdAt: '2021-01-01T00:00:00.000Z' };
  await importLines(deps, [{ ...ADA, ...given }]);
  expect(profile()).toMatchObject(given);
});
