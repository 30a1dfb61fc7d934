import { describe, expect, test } from 'bun:test';
import type { Actor } from '../../../shared/actor.ts';
import { eraseProfile } from '../../../shared/erasure.ts';
import { showKey } from '../../../shared/keys/view.ts';
import { setBanned } from '../../../shared/profiles/apply.ts';
import { profileRevision } from '../../../shared/profiles/find.ts';
import { issue, waitingWhile } from '../../support/keys.ts';
import { MAIL_CONFIG } from '../../support/mail.ts';
import { changeByHand, exportText, importLines, insertProfile } from '../../support/profiles.ts';
import { onBox, refusal, testDeps } from '../../support/world.ts';
import { KEY, openTerminal } from '../commands.ts';

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

describe('a profile that changes while a command waits for the write lock', () => {
  type World = ReturnType<typeof testDeps>;
  const ACTIONS = [
    ['profiles erase', (deps: World, by: Actor) => eraseProfile(deps, ADA.id, by)],
    [
      'profiles ban',
      (deps: World, by: Actor) => setBanned(deps, { id: ADA.id, by, banned: true, config: MAIL_CONFIG }),
    ],
  ] as const;

  test.each(ACTIONS)('is not touched: %s', async (_what, act) => {
    for (const change of [
      (deps: World) => {
        changeByHand(deps, 'ada', { username: 'countess' });
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
      expect(await exportText(deps)).not.toMatch(/"banned":true/);
    }
  });
});
