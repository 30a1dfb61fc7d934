import { describe, expect, test } from 'bun:test';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Actor } from '../../../shared/actor.ts';
import { effectsOnKeys, eraseProfile } from '../../../shared/erasure/erase-profile.ts';
import { showKey } from '../../../shared/keys/view.ts';
import { changeProfile } from '../../../shared/profiles/edit/change.ts';
import { profileRevision } from '../../../shared/profiles/profile-version.ts';
import { onBox } from '../../support/actors.ts';
import { changeByHand, exportText, importLines, jsonLines } from '../../support/import.ts';
import { issue, waitingWhile } from '../../support/keys.ts';
import { KEY, openTerminal } from '../../support/machine/terminal.ts';
import { MAIL_CONFIG } from '../../support/mail/config.ts';
import { insertProfile } from '../../support/profiles.ts';
import { refusal } from '../../support/refusal.ts';
import { testDeps } from '../../support/world.ts';

// A command keeps to the UID of the profile that it was given, even if another profile gets the name.

const ADA = { id: 7, username: 'ada', email: 'ada@example.org' };

/** Ada is renamed, and another profile has her name. */
const MOVED = [
  { ...ADA, username: 'countess' },
  { id: 8, username: 'ada', email: 'eve@example.org' },
];

async function world() {
  const deps = testDeps();
  await importLines(deps, [ADA]);
  const variables = { DATABASE_PATH: deps.config.databasePath };
  const names = () =>
    deps.db.$client.query<{ id: number; username: string }, []>('SELECT id, username FROM profiles').all();
  return { deps, variables, names };
}

describe('profiles erase', () => {
  test('asks again if the profile was renamed before the answer, and spares the profile with its old name', async () => {
    const { deps, variables, names } = await world();
    const terminal = openTerminal(['profiles', 'erase', 'ada'], variables);
    await terminal.see('Erase the profile ada (id 7) for good');
    await importLines(deps, MOVED);
    const { identifier } = await issue(deps, { profile: 'ada' });
    terminal.type(`y${KEY.enter}`);
    await terminal.see('The profile with the UID 7 has changed since you opened it. Nothing was done.');
    await terminal.see('Erase the profile countess (id 7) for good');
    expect(names()).toHaveLength(2);
    terminal.type(`y${KEY.enter}`);
    await terminal.see('Erased countess (id 7).');
    expect(await terminal.exited).toBe(0);
    expect(names()).toEqual([{ id: 8, username: 'ada' }]);
    expect(showKey(deps, identifier).state).toBe('Active');
  });

  test('fails if the profile was erased before the answer', async () => {
    const { deps, variables } = await world();
    const terminal = openTerminal(['profiles', 'erase', 'ada'], variables);
    await terminal.see('(id 7) for good');
    await importLines(deps, [{ id: 7, deleted: true }]);
    terminal.type(`y${KEY.enter}`);
    await terminal.see('has changed since you opened it. Nothing was done.');
    await terminal.see('The profile with the UID 7 was erased.');
    expect(await terminal.exited).toBe(1);
  });
});

test('profiles import --prune asks again with the new number if a UID was given to another profile before the answer', async () => {
  const { deps, variables, names } = await world();
  await importLines(deps, [
    { id: 8, username: 'bob' },
    { id: 9, username: 'eve' },
  ]);
  const file = join(deps.folder, 'profiles.jsonl');
  writeFileSync(file, jsonLines(ADA));
  const terminal = openTerminal(['profiles', 'import', '--prune', '--prune-limit', '100%', file], variables);
  await terminal.see('Erase the 2 profiles missing from the file for good');
  await importLines(deps, [{ id: 9, deleted: true }]);
  await importLines(deps, [{ id: 9, username: 'new' }]);
  terminal.type(`y${KEY.enter}`);
  await terminal.see('have changed since they were shown: some were erased, recreated or changed. None was erased.');
  await terminal.see('Erase the one profile missing from the file for good');
  expect(names()).toHaveLength(3);
  terminal.type(`y${KEY.enter}`);
  await terminal.see('pruned 1 profile');
  expect(await terminal.exited).toBe(0);
  expect(names()).toEqual([
    { id: 7, username: 'ada' },
    { id: 9, username: 'new' },
  ]);
});

describe('a profile that changes while a command waits for the write lock', () => {
  type World = ReturnType<typeof testDeps>;
  const CHANGES = { banned: true, displayName: 'Ada Lovelace', links: [], aliases: ['lovelace'], username: 'ada2' };
  const ACTIONS = [
    ['profiles erase', (deps: World, by: Actor) => eraseProfile(deps, ADA.id, by)],
    ...Object.entries(CHANGES).map(
      ([field, value]) =>
        [
          `a change of ${field}`,
          (deps: World, by: Actor) =>
            changeProfile(deps, {
              id: ADA.id,
              by,
              decide: () => ({ [field]: value }),
              onKeys: effectsOnKeys(by, MAIL_CONFIG),
            }),
        ] as const,
    ),
  ] as const;

  test.each(ACTIONS)('is not touched: %s', async (_what, act) => {
    for (const change of [
      (deps: World) => {
        changeByHand(deps, 'ada', () => ({ username: 'countess' }));
        insertProfile(deps.db, { id: 8, username: 'ada' });
      },
      (deps: World) => void eraseProfile(deps, ADA.id, onBox('other')),
      (deps: World) => {
        eraseProfile(deps, ADA.id, onBox('other'));
        insertProfile(deps.db, { id: ADA.id, username: 'ada' });
      },
    ]) {
      const { deps } = await world();
      const by: Actor = { kind: 'operator', name: 'ada', shown: profileRevision(deps.db, ADA.id) };
      const late = waitingWhile(deps, () => change(deps));
      const error = await refusal(() => act(late, by));
      expect([error.code, error.message]).toEqual([
        'changed_since',
        'The profile with the UID 7 has changed since you opened it. Nothing was done.',
      ]);
      expect(await exportText(deps)).not.toMatch(/"banned":true|Lovelace|lovelace|ada2/);
    }
  });
});
