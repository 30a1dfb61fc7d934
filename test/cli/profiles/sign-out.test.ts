import { expect, test } from 'bun:test';
import { readSignIn } from '../../../shared/sign-in/sessions.ts';
import { runCommand } from '../../support/commands.ts';
import { ownerOf, signedIn } from '../../support/people.ts';
import { insertProfile } from '../../support/profiles.ts';
import { testDeps } from '../../support/world.ts';

/** A service with two owners, each signed in. */
function world() {
  const access = testDeps();
  insertProfile(access.db, { id: 7, username: 'Ada', aliases: ['lovelace'] });
  insertProfile(access.db, { id: 8, username: 'bob' });
  const [ada, bob] = [7, 8].map((id) => {
    const session = signedIn(access, ownerOf(id));
    return () => readSignIn(access, session) !== null;
  }) as [() => boolean, () => boolean];
  const run = (...words: string[]) =>
    runCommand(['profiles', 'sign-out', ...words], { variables: { DATABASE_PATH: access.config.databasePath } });
  return { ada, bob, run };
}

test('profiles sign-out ends all sessions of one owner, and of nobody else', async () => {
  const { ada, bob, run } = world();
  expect(await run('lovelace')).toEqual({
    code: 0,
    stdout: 'Signed out Ada (id 7): 1 session ended.\n',
    stderr: '',
  });
  expect([ada(), bob()]).toEqual([false, true]);
  const again = { id: 7, username: 'Ada', signedOut: true, endedSessions: 0 };
  expect(JSON.parse((await run('ada', '--json')).stdout)).toEqual(again);
});
