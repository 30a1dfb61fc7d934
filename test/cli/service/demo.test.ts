import { afterAll, expect, test } from 'bun:test';
import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { cleanEnvironment, commandEnvironment, FROM_SOURCE, PROJECT, profilectlWords } from '../../support/cli.ts';
import { fetchPage } from '../../support/pages.ts';
import { registerAt } from '../../support/people.ts';
import { eventually, tempFolder, testDeps } from '../../support/world.ts';

/** Starts the demo by this command and waits for its last line. */
async function startDemo(TMPDIR: string, words: readonly string[]) {
  const child = Bun.spawn([...words], {
    env: cleanEnvironment({ TMPDIR, DATABASE_PATH: '/nowhere/real.db', PORT: '1', MAIL_URL: 'smtp://127.0.0.1:1' }),
    cwd: PROJECT,
    stdout: 'pipe',
    stderr: 'inherit',
  });
  afterAll(() => child.kill('SIGKILL'));
  const reader = child.stdout.getReader();
  const decoder = new TextDecoder();
  let printed = '';
  while (!printed.includes('Ctrl-C stops it')) {
    const { value, done } = await reader.read();
    if (done) throw new Error(`the demo ended: ${printed}`);
    printed += decoder.decode(value, { stream: true });
  }
  const curl = printed.split('\n').find((line) => line.trim().startsWith('curl ')) ?? '';
  return { child, printed, curl };
}

/** A PATH with an `npx` that runs this version of Bun without a registry. */
function npxThatIsBun(folder: string): string {
  const bin = join(folder, 'bin');
  mkdirSync(bin, { recursive: true });
  const script = `#!/bin/sh\n[ "$1 $2" = "-y bun@${Bun.version}" ] || exit 1\nshift 2\nexec '${process.execPath}' "$@"\n`;
  writeFileSync(join(bin, 'npx'), script, { mode: 0o755 });
  return `${bin}:/bin:/usr/bin`;
}

const TMPDIR = tempFolder();
const [first, second] = await Promise.all([
  startDemo(TMPDIR, [...FROM_SOURCE, 'demo']),
  startDemo(TMPDIR, profilectlWords(['demo'])),
]);

/** Runs a printed line in a shell. */
function run(line: string): string {
  return Bun.spawnSync(['sh', '-c', line], {
    env: commandEnvironment({ PATH: npxThatIsBun(TMPDIR) }),
    cwd: TMPDIR,
  }).stdout.toString();
}

test.skipIf(Bun.which('curl') === null)(
  'two demos at the same time each print curl commands that work as printed',
  () => {
    expect(first.curl).not.toBe(second.curl);
    for (const { curl, printed } of [first, second]) {
      expect(printed).toContain('50 sample profiles');
      expect(JSON.parse(run(curl))).toMatchObject({ id: 7, username: 'Ada', banned: false });
      const [address = ''] = /http:\S+$/.exec(curl) ?? [];
      const others = [...printed.matchAll(/^ {2}"(http:\S+)"/gm)].map(([, other = '']) => other);
      expect(others.length).toBeGreaterThan(3);
      for (const other of others) {
        expect(Object.keys(JSON.parse(run(curl.replace(address, `"${other}"`))))).not.toContain('error');
      }
      expect(run(printed.split('\n').find((line) => line.endsWith(' keys list')) ?? '')).toContain('Demo key');
    }
  },
);

test('the demo’s printed instructions let an owner and an admin sign in, and a backend can send it profiles', async () => {
  // The one from source would load the code of every page and command first.
  const { printed } = second;
  const lineWith = (text: string) => printed.split('\n').find((line) => line.includes(text)) ?? '';
  const [, name = '', address = ''] = /username (\S+) and the e-mail address (\S+) at/.exec(printed) ?? [];
  const [url = ''] = /http:\/\/localhost:\d+(?=\/developers\/sign-in$)/m.exec(printed) ?? [];

  const post = (path: string, form: Record<string, string>, cookie = '') =>
    fetchPage({ url }, path, { method: 'POST', body: new URLSearchParams(form).toString(), headers: { cookie } });
  const asked = await post('/developers/sign-in', { name, address, next: '' });
  const code = await eventually(() => run(lineWith('Z-sign-in.eml')).trim());
  const entered = await post('/developers/sign-in/code', { code, next: '' }, asked.cookie);
  expect(entered.status).toBe(303);
  const page = await fetchPage({ url }, '/developers/keys', { headers: { cookie: entered.cookie } });
  expect([page.status, page.body]).toEqual([200, expect.stringContaining('Demo key')]);

  const [, database = ''] = /--db (\S+) keys list/.exec(printed) ?? [];
  const access = testDeps({ variables: { DATABASE_PATH: database, PUBLIC_URL: url } });
  const enrolment = lineWith('/developers/enrol#').trim();
  expect((await fetch(enrolment)).status).toBe(200);
  await registerAt(access, enrolment);
  access.db.$client.close();
  expect((await fetch(`${url}/developers/admin/sign-in`)).status).toBe(200);

  const token = run(lineWith('keys list').replace('keys list', 'tokens add backend --right profiles'));
  const sent = await fetch(`${url}/manage/v1/profiles`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${token.trim()}`, 'Content-Type': 'application/jsonl' },
    body: '{"id":7,"username":"Ada"}\n',
  });
  expect([sent.status, await sent.json()]).toEqual([200, expect.objectContaining({ imported: 1 })]);
});

test('a demo that can’t make its folder says why', () => {
  const env = cleanEnvironment({ TMPDIR: '/nowhere' });
  const { exitCode, stderr } = Bun.spawnSync(profilectlWords(['demo']), { env });
  expect([exitCode, String(stderr)]).toEqual([1, expect.stringContaining('made in /nowhere (ENOENT); set TMPDIR')]);
});

test('two demos that are stopped leave no files behind', async () => {
  first.child.kill('SIGTERM');
  second.child.kill('SIGHUP');
  for (const { child } of [first, second]) expect(await child.exited).toBe(0);
  expect(readdirSync(TMPDIR).filter((name) => name !== 'bin')).toEqual([]);
  expect(existsSync('/nowhere')).toBe(false);
});
