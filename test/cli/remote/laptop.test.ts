import { expect, test } from 'bun:test';
import { existsSync, readFileSync } from 'node:fs';
import { changeLogins } from '../../../cli/remote/stored-logins.ts';
import { runCommand } from '../../support/machine/command.ts';
import { newLaptop } from '../../support/portal/logins.ts';

// A machine that is logged in to a server that does not respond, to none, or to several.

const ENDS_AT = '2027-01-01T00:00:00.000Z';
const AWAY = 'http://127.0.0.1:1';

/** Runs a command on a machine that is logged in to that server. */
async function runAt(words: string[], stdin = '') {
  const laptop = newLaptop();
  await changeLogins((logins) => logins.set(AWAY, { token: 'plt_hunter2', endsAt: ENDS_AT }), laptop.file);
  const finished = await runCommand(words, { variables: { ...laptop.variables, BROWSER: 'true' }, stdin });
  expect(finished.stdout + finished.stderr).not.toContain('hunter2');
  return { ...finished, stored: Object.keys(JSON.parse(readFileSync(laptop.file, 'utf8')).hosts) };
}

// test/cli/remote/client.test.ts tries servers that respond incorrectly.
test('a server that is down is reported in a sentence that says what to do', async () => {
  const said = `No server is responding at ${AWAY} (ECONNREFUSED); check the URL, and try again later.`;
  const [whoami, login, withToken, logout] = await Promise.all([
    runAt(['whoami']),
    runAt(['login', AWAY]),
    runAt(['login', AWAY, '--with-token'], 'plt_hunter2'),
    runAt(['logout', '--json']),
  ]);
  for (const one of [whoami, login, withToken])
    expect(one).toEqual({ code: 75, stdout: '', stderr: `${said}\n`, stored: [AWAY] });
  expect(logout).toMatchObject({ code: 75, stdout: '', stored: [] });
  expect(JSON.parse(logout.stderr).error).toBe(
    `${said} The login was removed here, but the token may still work there until ${ENDS_AT}; revoke it at ${AWAY}/developers/sessions.`,
  );
});

test('no login, several logins and a login to another server are each reported in a sentence', async () => {
  const laptop = newLaptop();
  const run = (...words: string[]) => runCommand(words, { variables: laptop.variables, stdin: '' });
  const sentences = async (...commands: string[][]) =>
    (await Promise.all(commands.map((words) => run(...words)))).map(({ code, stderr }) => [code, stderr.trim()]);
  const nowhere = [4, 'You are not logged in to any server; run "profilectl login" with the URL of one.'];
  expect(await sentences(['whoami'], ['logout'])).toEqual([nowhere, nowhere]);
  expect(existsSync(laptop.file)).toBe(false);
  const PROFILECTL_TOKEN = `plt_k7Qm2XaB_${'x'.repeat(38)}`;
  for (const words of [['whoami'], ['keys', 'list']]) {
    expect(await runCommand(words, { variables: { ...laptop.variables, PROFILECTL_TOKEN }, stdin: '' })).toMatchObject({
      code: 2,
      stderr: 'PROFILECTL_TOKEN is set, but no server is named; name one with --host or PROFILECTL_HOST.\n',
    });
  }
  await changeLogins((logins) => {
    for (const url of ['https://a.example.org', 'https://b.example.org']) logins.set(url, { token: 't', endsAt: null });
  }, laptop.file);
  const several = [
    2,
    'You are logged in to several servers: https://a.example.org, https://b.example.org; name one with --host or PROFILECTL_HOST.',
  ];
  const other = 'https://c.example.org';
  const both = [2, `${other} and --host ${other} are mutually exclusive; leave one out.`];
  expect(
    await sentences(
      ['whoami'],
      ['logout'],
      ['whoami', '--host', other],
      ['logout', other],
      ['login', other, '--host', other],
      ['login', 'c.example.org'],
      ['login'],
      ['login', '--db', 'x.db', other],
      ['login', other, 'plt_hunter2'],
    ),
  ).toEqual([
    several,
    several,
    [4, `You are not logged in to ${other}; run "profilectl login ${other}".`],
    [4, `You are not logged in to ${other}.`],
    both,
    [2, 'The URL must look like https://api.example.org, without query or fragment.'],
    [2, 'Name the server: profilectl login https://api.example.org'],
    [2, '"profilectl login" always uses a server; it does not support --db.'],
    // A token is never an argument, and is not repeated.
    [2, 'Too many arguments (1 expected); see profilectl login --help.'],
  ]);
});
