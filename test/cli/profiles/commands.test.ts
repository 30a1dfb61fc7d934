import { expect, test } from 'bun:test';
import { join } from 'node:path';
import { readSignIn } from '../../../shared/sign-in/sessions.ts';
import { commandEnvironment, profilectlWords } from '../../support/cli.ts';
import { startSmtp } from '../../support/mail.ts';
import { signedIn } from '../../support/people.ts';
import { insertProfile, jsonLines, usernamesIn } from '../../support/profiles.ts';
import { tempFolder, testDeps } from '../../support/world.ts';
import { KEY, openTerminal, runCommand } from '../commands.ts';

// What sessions/profiles.txt can't show: terminals, sessions, mails and other programs.

const ADA = { id: 7, username: 'Ada', aliases: ['lovelace'], email: 'ada@example.org' };

/** Imports these objects into a new database, and returns its path. */
async function imported(...lines: object[]): Promise<string> {
  const db = join(tempFolder(), 'profiles.db');
  await runCommand(['profiles', 'import', '-', '--db', db], { stdin: jsonLines(...lines) });
  return db;
}

test('profiles erase asks one question on a terminal, which names the profile, and any answer but yes changes nothing', async () => {
  const db = await imported(ADA, { id: 8, username: 'bob' });
  for (const keys of [KEY.enter, `n${KEY.enter}`, KEY.ctrlC, KEY.ctrlD]) {
    const terminal = openTerminal(['profiles', 'erase', 'lovelace', '--db', db]);
    await terminal.answer('Erase the profile Ada (id 7)', keys);
    expect(await terminal.exited).toBe(130);
  }
  expect(usernamesIn(db)).toEqual(['Ada', 'bob']);
  const terminal = openTerminal(['profiles', 'erase', 'lovelace', '--db', db]);
  await terminal.answer('Erase the profile Ada (id 7)', `y${KEY.enter}`);
  await terminal.see('Erased Ada (id 7).');
  expect(await terminal.exited).toBe(0);
  expect(usernamesIn(db)).toEqual(['bob']);
});

test('profiles sign-out ends all sessions of one owner, and of nobody else', async () => {
  const access = testDeps();
  insertProfile(access.db, ADA);
  insertProfile(access.db, { id: 8, username: 'bob' });
  const sessions = [7, 8].map((id) => signedIn(access, id));
  const variables = { DATABASE_PATH: access.config.databasePath };
  const done = await runCommand(['profiles', 'sign-out', 'lovelace'], { variables });
  expect(done).toEqual({ code: 0, stdout: 'Signed out Ada (id 7): 1 session ended.\n', stderr: '' });
  expect(sessions.map((session) => readSignIn(access, session)?.name)).toEqual([undefined, 'bob']);
});

test('profiles export ends quietly when the reader stops reading, but reports a full disk', async () => {
  const lines = Array.from({ length: 200 }, (_, i) => ({
    id: i + 1,
    username: `u${i}`,
    displayName: 'x'.repeat(5_000),
  }));
  const words = profilectlWords(['profiles', 'export', '--db', await imported(...lines)]).map((word) => `'${word}'`);
  const run = (line: string) => {
    const { exitCode, stdout, stderr } = Bun.spawnSync(['bash', '-c', line], { env: commandEnvironment() });
    return [exitCode, String(stdout), String(stderr)];
  };
  expect(run(`${words.join(' ')} | head -c 10; exit \${PIPESTATUS[0]}`)).toEqual([0, '{"id":1,"u', '']);
  expect(run(`${words.join(' ')} > /dev/full`)).toEqual([1, '', "The output can't be written (ENOSPC).\n"]);
});

test('profiles import leaves its mails to the server', async () => {
  const smtp = await startSmtp();
  const variables = { MAIL_URL: smtp.url, MAIL_FROM: 'keys@example.net', DATABASE_PATH: await imported(ADA) };
  const stdin = jsonLines({ ...ADA, email: 'ada@example.net' });
  expect(await runCommand(['profiles', 'import', '-'], { variables, stdin })).toMatchObject({ code: 0 });
  expect(smtp.received).toEqual([]);
  const { db } = testDeps({ variables });
  expect(db.$client.query('SELECT kind, result FROM mails').values()).toEqual([['changed-address', 'waiting']]);
});
