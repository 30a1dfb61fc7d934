import { describe, expect, test } from 'bun:test';
import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { VERSION } from '../shared/version.ts';
import { ROUTES } from './server/routes.ts';
import { createAuthenticator } from './support/authenticator.ts';
import { BINARY as BUILT, BUILT_COMMIT, FROM_SOURCE, PROJECT, profilectl } from './support/cli.ts';
import { get } from './support/http.ts';
import { startServerProcess } from './support/machine.ts';
import { fetchPage, passkeyOptionsOn } from './support/pages.ts';
import { secretOf } from './support/people.ts';
import { tempFolder } from './support/world.ts';

// The binary of `bun run build` alone, run in folders without any file of ours and with an empty PATH. In `bun run test` it is also
// what other tests start.

const BINARY = BUILT ?? join(tempFolder(), 'profilectl');

if (BUILT === undefined) {
  const build = Bun.spawnSync([process.execPath, 'cli/build.ts', BINARY, BUILT_COMMIT], { cwd: PROJECT });
  expect([build.stdout.toString(), build.exitCode]).toEqual([`Built ${BINARY} ${VERSION} (${BUILT_COMMIT}).\n`, 0]);
}

/** Runs the binary to its end in a folder, with an empty PATH. */
const run = (cwd: string, words: string[], variables: Record<string, string> = {}) =>
  profilectl(words, { program: [BINARY], cwd, variables: { PATH: '', ...variables } });

const serve = (cwd: string, variables: Record<string, string> = {}) =>
  startServerProcess({ PATH: '', ...variables }, { words: [BINARY, 'serve'], cwd });

describe('in an empty folder, with an empty PATH', () => {
  test('the binary is one file, without a path of the machine that built it', () => {
    expect(readdirSync(join(BINARY, '..'))).toEqual(['profilectl']);
    expect(statSync(BINARY).mode & 0o111).toBe(0o111);
    expect(readFileSync(BINARY).includes(PROJECT)).toBe(false);
  });

  test('--version prints the version and the commit, and --help prints the commands', async () => {
    const folder = tempFolder();
    expect(await run(folder, ['--version'])).toEqual({ code: 0, stdout: `${VERSION} (${BUILT_COMMIT})\n`, stderr: '' });
    const fromSource = await profilectl(['--version'], { program: [...FROM_SOURCE] });
    expect(fromSource).toMatchObject({ code: 0, stdout: expect.stringMatching(/^[\d.]+( \(\w{7,}(-dirty)?\))?\n$/) });
    const help = await run(folder, ['--help']);
    expect(help).toMatchObject({ code: 0, stderr: '', stdout: expect.stringContaining('profilectl keys approve') });
    expect(readdirSync(folder)).toEqual([]);
  });

  test('serve answers everything that needs no key from the binary, and admins can register passkeys and sign in with them', async () => {
    const folder = tempFolder();
    const site = { PUBLIC_URL: 'http://localhost:3000' };
    const server = await serve(folder, { CONTACT: 'https://example.org/report', ...site });
    const open = ROUTES.filter(({ access, path }) => access === 'anyone' && path !== '/metrics');
    expect(open.length).toBeGreaterThan(2);
    for (const { path } of open) {
      const { status } = await get(server, path);
      expect([path, status >= 200 && status < 400]).toEqual([path, true]);
    }
    expect((await fetch(`${server.url}/developers`)).status).toBe(200);
    // The binary itself verifies them.
    const send = (path: string, fields: Record<string, string>) =>
      fetchPage(server, path, { method: 'POST', body: new URLSearchParams(fields) });
    const secret = secretOf((await run(folder, ['admins', 'add', 'Grace'], site)).stdout.trim());
    const authenticator = createAuthenticator({ id: 'localhost', origin: site.PUBLIC_URL });
    const made = passkeyOptionsOn(await send('/developers/enrol', { secret }));
    const credential = authenticator.register(made.challenge, made.user.handle);
    expect((await send('/developers/enrol', { secret, name: 'Laptop', credential })).status).toBe(303);
    const asked = await send('/developers/admin/sign-in', {});
    const sent = { credential: authenticator.assert(passkeyOptionsOn(asked).challenge) };
    expect((await send('/developers/admin/sign-in', sent)).status).toBe(303);
    expect((await send('/developers/admin/sign-in', sent)).status).toBe(403);
    expect(await server.end()).toBe(0);
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
  const server = await serve(folder);
  expect(server.url).toStartWith('http://127.0.0.1:');
  expect((await get(server, '/readyz')).status).toBe(200);
  expect(await server.end()).toBe(0);
  expect(readdirSync(folder).sort()).toEqual([...before, 'data'].sort());

  // Bun itself reads these files, so the test would notice if the binary did.
  const bun = Bun.spawn([process.execPath, '-p', 'process.env.PORT'], { cwd: folder, env: {}, stdout: 'pipe' });
  expect(await new Response(bun.stdout).text()).toBe('http\n');
  expect(readdirSync(folder)).toContain('marker');
});
