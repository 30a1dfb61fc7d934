import { describe, expect, test } from 'bun:test';
import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { VERSION } from '../shared/version.ts';
import { createAuthenticator } from './support/authenticator.ts';
import { BINARY as BUILT, BUILT_COMMIT, type Finished, LATE_JIT, NO_JIT, PROJECT } from './support/cli.ts';
import { KEY, openTerminal } from './support/commands.ts';
import { get } from './support/http.ts';
import { DESCRIPTION } from './support/keys.ts';
import { startServerProcess } from './support/machine.ts';
import { challengeOn, fetchPage, userHandleOn } from './support/pages.ts';
import { secretOf } from './support/people.ts';
import { insertProfile } from './support/profiles.ts';
import { ROUTES } from './support/requests.ts';
import { tempFolder, testDeps } from './support/world.ts';

// The binary of `bun run build` alone, run in folders without any file of ours and with an empty PATH.

const BINARY = BUILT ?? join(tempFolder(), 'profilectl');

if (BUILT === undefined) {
  const build = Bun.spawnSync([process.execPath, 'cli/build.ts', BINARY, BUILT_COMMIT], { cwd: PROJECT });
  expect([build.stdout.toString(), build.exitCode]).toEqual([`Built ${BINARY} ${VERSION} (${BUILT_COMMIT}).\n`, 0]);
}

/** Runs the binary to its end in a folder, with only these variables. */
async function run(folder: string, words: string[], variables: Record<string, string> = {}): Promise<Finished> {
  const environment = { PATH: '', ...NO_JIT, ...variables };
  const child = Bun.spawn([BINARY, ...words], { cwd: folder, env: environment, stdout: 'pipe', stderr: 'pipe' });
  const [stdout, stderr] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()]);
  return { code: await child.exited, stdout, stderr };
}

const serve = (folder: string, words: string[], variables: Record<string, string>, listening?: RegExp) =>
  startServerProcess(
    {},
    {
      words: [BINARY, ...words],
      cwd: folder,
      environment: { PATH: '', ...LATE_JIT, ...variables },
      ...(listening && { listening }),
    },
  );

describe('in an empty folder, with an empty PATH', () => {
  test('the binary is one file, without a path of the machine that built it', () => {
    expect(readdirSync(join(BINARY, '..'))).toEqual(['profilectl']);
    expect(statSync(BINARY).mode & 0o111).toBe(0o111);
    expect(readFileSync(BINARY).includes(PROJECT)).toBe(false);
  });

  test('--version prints the version and the commit, and --help prints the commands', async () => {
    const folder = tempFolder();
    expect(await run(folder, ['--version'])).toEqual({ code: 0, stdout: `${VERSION} (${BUILT_COMMIT})\n`, stderr: '' });
    const help = await run(folder, ['--help']);
    expect(help).toMatchObject({ code: 0, stderr: '', stdout: expect.stringContaining('profilectl keys approve') });
    expect(readdirSync(folder)).toEqual([]);
  });

  test('demo serves its sample profiles to the key in its mail, and leaves no files', async () => {
    const folder = tempFolder();
    const demo = await serve(folder, ['demo'], { TMPDIR: folder }, /running on (http:\S+) with 50 sample profiles/);
    const [, mails = '', identifier = ''] = await demo.see(/^ {2}(\S+)\/\*-approval-(\w{8})\.eml$/m);
    await demo.see(/Ctrl-C/);
    const secret = secretIn(mails, identifier);
    expect(await ask(demo.url, '/api/lookup/username/Ada', secret)).toMatchObject([200, { id: 7, username: 'Ada' }]);
    expect(await ask(demo.url, '/api/leaderboard?limit=1', secret)).toMatchObject([200, { total: expect.any(Number) }]);
    expect(await demo.end('SIGINT')).toBe(0);
    expect(readdirSync(folder)).toEqual([]);
  });

  test('the whole life of a key: import, request, approve, lookup, revoke, 401', async () => {
    const folder = tempFolder();
    writeFileSync(join(folder, 'in.jsonl'), '{"id":7,"username":"Ada","email":"ada@example.org"}\n');
    writeFileSync(join(folder, 'settings.env'), 'MAIL_URL=file:mails\n', { mode: 0o600 });
    const profilectl = async (...words: string[]) => {
      const { code, stdout, stderr } = await run(folder, [...words, '--json', '--env-file', 'settings.env']);
      expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
      return JSON.parse(stdout);
    };
    expect(await profilectl('profiles', 'import', 'in.jsonl')).toMatchObject({ imported: 1, refused: [] });
    const words = ['--profile', 'ada', '--name', 'Bot', '--description', DESCRIPTION, '--permission', 'api.lookup'];
    const { identifier } = await profilectl('keys', 'request', ...words);
    expect(await profilectl('keys', 'approve', identifier)).toMatchObject({ state: 'Active' });
    const secret = secretIn(join(folder, 'mails'), identifier);
    const server = await serve(folder, ['serve', '--env-file', 'settings.env'], { PORT: '0' });
    expect(await ask(server.url, '/api/lookup/username/ADA', secret)).toMatchObject([200, { username: 'Ada' }]);
    expect(await profilectl('keys', 'revoke', identifier, '--reason', 'Leaked.')).toMatchObject({ state: 'revoked' });
    expect(await ask(server.url, '/api/lookup/username/ADA', secret)).toMatchObject([401, {}]);
    expect(await server.end()).toBe(0);
  });

  test('serve answers everything that needs no key from the binary, and admins can register passkeys and sign in with them', async () => {
    const folder = tempFolder();
    const site = { PUBLIC_URL: 'http://localhost:3000' };
    const server = await serve(folder, ['serve'], {
      PORT: '0',
      CONTACT: 'https://example.org/report',
      ...site,
    });
    const open = ROUTES.filter(({ access, path }) => access === 'anyone' && path !== '/metrics');
    expect(open.length).toBeGreaterThan(2);
    for (const { path } of open) {
      const { status } = await get(server, path);
      expect([path, status >= 200 && status < 400]).toEqual([path, true]);
    }
    expect((await fetch(`${server.url}/developers`)).status).toBe(200);
    // The binary itself verifies them.
    const send = async (path: string, fields: Record<string, string>) => {
      const answer = await fetchPage(server, path, { method: 'POST', body: new URLSearchParams(fields) });
      return { status: answer.status, body: await answer.text() };
    };
    const secret = secretOf((await run(folder, ['admins', 'add', 'Grace'], site)).stdout.trim());
    const authenticator = createAuthenticator({ id: 'localhost', origin: site.PUBLIC_URL });
    const made = await send('/developers/enrol', { secret });
    const credential = authenticator.register(challengeOn(made), userHandleOn(made));
    expect((await send('/developers/enrol', { secret, name: 'Laptop', credential })).status).toBe(303);
    const asked = await send('/developers/admin/sign-in', {});
    const sent = { credential: authenticator.assert(challengeOn(asked)) };
    expect((await send('/developers/admin/sign-in', sent)).status).toBe(303);
    expect((await send('/developers/admin/sign-in', sent)).status).toBe(403);
    expect(await server.end()).toBe(0);
  });

  test('prompts of the binary work in a terminal', async () => {
    const { config, db } = testDeps();
    insertProfile(db, { username: 'ada' });
    const words = ['keys', 'request', '--profile', 'ada', '--db', config.databasePath];
    const terminal = openTerminal(words, { PATH: '' }, (more) => [BINARY, ...more]);
    await terminal.see('Name of the key');
    terminal.type(KEY.ctrlC);
    expect(await terminal.exited).toBe(130);
  });
});

test('a hostile folder changes nothing: no bunfig.toml, .env, tsconfig.json, package.json or node_modules is read', async () => {
  const folder = tempFolder();
  const marker = join(folder, 'marker');
  const evil = `require('node:fs').writeFileSync(${JSON.stringify(marker)}, 'run');`;
  const files = {
    'evil.js': evil,
    'bunfig.toml': 'preload = ["./evil.js"]\n[run]\npreload = ["./evil.js"]\n',
    '.env': 'DATABASE_PATH=/elsewhere/profiles.db\nPORT=http\nHOST=0.0.0.0\nBUN_OPTIONS=--preload=./evil.js\n',
    'tsconfig.json': '{"compilerOptions":{"baseUrl":".","paths":{"*":["./evil.js"]}}}',
    'package.json': '{"main":"evil.js","imports":{"#*":"./evil.js"}}',
    'profiles.jsonl': '{"id":1,"username":"one"}\n',
  };
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
  const packages = ['elysia', 'commander', 'drizzle-orm', 'nodemailer', 'inquirer', 'zod', '@simplewebauthn/server'];
  for (const name of packages) {
    mkdirSync(join(folder, 'node_modules', name), { recursive: true });
    writeFileSync(join(folder, 'node_modules', name, 'index.js'), evil);
  }
  const before = readdirSync(folder).sort();
  expect(await run(folder, ['--version'])).toMatchObject({ code: 0, stderr: '' });
  const missing = await run(folder, ['keys', 'list']);
  expect(missing).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/^There is no database at data\/profiles\.db/),
  });
  expect(await run(folder, ['profiles', 'import', 'profiles.jsonl'])).toMatchObject({ code: 0 });
  const server = await serve(folder, ['serve'], { PORT: '0' });
  expect(server.url).toStartWith('http://127.0.0.1:');
  expect(await ask(server.url, '/readyz')).toEqual([200, { status: 'ok' }]);
  expect(await server.end()).toBe(0);
  expect(readdirSync(folder).sort()).toEqual([...before, 'data'].sort());

  // Bun itself reads these files, so the test would notice if the binary did.
  const bun = Bun.spawn([process.execPath, '-p', 'process.env.PORT'], { cwd: folder, env: {}, stdout: 'pipe' });
  expect(await new Response(bun.stdout).text()).toBe('http\n');
  expect(readdirSync(folder)).toContain('marker');
});

/** The secret of a key in the mails of this folder. */
function secretIn(folder: string, identifier: string): string {
  const name = readdirSync(folder).find((file) => file.endsWith(`-approval-${identifier}.eml`)) ?? '';
  const [secret = ''] = /plk_\w{8}_\w{38}/.exec(readFileSync(join(folder, name), 'utf8')) ?? [];
  return secret;
}

async function ask(url: string, path: string, secret = ''): Promise<[number, unknown]> {
  const answer = await get({ url }, path, secret);
  return [answer.status, await answer.json()];
}
