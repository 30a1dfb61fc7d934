import { afterAll, expect, test } from 'bun:test';
import { existsSync, readFileSync } from 'node:fs';
import { changeLogins } from '../../../cli/remote/stored-logins.ts';
import { runCommand } from '../../support/machine/command.ts';
import { testCertificate } from '../../support/network/certificates.ts';
import { newLaptop } from '../../support/portal/logins.ts';
import { drawHalf, seededRandom } from '../../support/rounds.ts';

// A machine that is logged in to servers that don't respond, or respond incorrectly.

const ENDS_AT = '2027-01-01T00:00:00.000Z';
const AWAY = 'http://127.0.0.1:1';

const elsewhere = testCertificate('elsewhere');
const stranger = Bun.serve({
  hostname: '127.0.0.1',
  port: 0,
  tls: { cert: elsewhere.cert, key: elsewhere.key },
  fetch: () => new Response('no request comes this far'),
});
const page = Bun.serve({
  hostname: '127.0.0.1',
  port: 0,
  fetch: () => new Response('<h1>Sign in to this network</h1>', { headers: { 'Content-Type': 'text/html' } }),
});
/** Closes every connection, like a proxy after a timeout of the server behind it. */
const cutting = Bun.listen({
  hostname: '127.0.0.1',
  port: 0,
  socket: { data: (socket) => void socket.terminate() },
});
afterAll(async () => {
  cutting.stop(true);
  await Promise.all([stranger.stop(true), page.stop(true)]);
});

/** Runs a command on a machine that is logged in to a server. */
async function runAt(url: string, words: string[], stdin = '') {
  const laptop = newLaptop();
  await changeLogins((logins) => logins.set(url, { token: 'plt_hunter2', endsAt: ENDS_AT }), laptop.file);
  const finished = await runCommand(words, { variables: { ...laptop.variables, BROWSER: 'true' }, stdin });
  expect(finished.stdout + finished.stderr).not.toContain('hunter2');
  return { ...finished, stored: Object.keys(JSON.parse(readFileSync(laptop.file, 'utf8')).hosts) };
}

/** The behaviour of a server, and the exit code and sentence that report it. */
const cases: [what: string, url: string, code: number, sentence: string][] = [
  ['down', AWAY, 75, 'No server is responding at URL (ECONNREFUSED); check the URL, and try again later.'],
  [
    'cut off by a proxy',
    `http://127.0.0.1:${cutting.port}`,
    75,
    'The connection to URL was closed before the response arrived; try again.',
  ],
  ['of another name', `https://localhost:${stranger.port}`, 1, "The certificate of URL can't be trusted ("],
  [
    'behind the sign-in page of a network',
    `http://127.0.0.1:${page.port}`,
    1,
    'The response from URL (status 200) is not from Profile Lookup; check the URL.',
  ],
];

// test/cli/remote/client.test.ts tries all of them.
test.each(drawHalf(cases, seededRandom('servers that are away')))(
  'a server that is %s is reported in a sentence that says what to do',
  async (_what, url, code, sentence) => {
    const said = sentence.replace('URL', url);
    const [whoami, login, withToken, logout] = await Promise.all([
      runAt(url, ['whoami']),
      runAt(url, ['login', url]),
      runAt(url, ['login', url, '--with-token'], 'plt_hunter2'),
      runAt(url, ['logout', '--json']),
    ]);
    for (const one of [whoami, login, withToken]) {
      expect([one.code, one.stdout, one.stored]).toEqual([code, '', [url]]);
      expect(one.stderr).toStartWith(said);
      expect(one.stderr.trim().split('\n')).toHaveLength(1);
    }
    expect(logout).toMatchObject({ code, stdout: '', stored: [] });
    const { error } = JSON.parse(logout.stderr);
    expect(error).toStartWith(said);
    expect(error).toEndWith(
      ` The login was removed here, but the token may still work there until ${ENDS_AT}; revoke it at ${url}/developers/sessions.`,
    );
  },
);

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
