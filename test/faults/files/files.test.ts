import { afterAll, describe, expect, test } from 'bun:test';
import { chmodSync, chownSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { cleanEnvironment, profilectl, profilectlWords } from '../../support/cli.ts';
import { get } from '../../support/http.ts';
import { keyFor } from '../../support/keys.ts';
import { startServerProcess } from '../../support/machine.ts';
import { startSmtp } from '../../support/mail.ts';
import { insertProfile } from '../../support/profiles.ts';
import { tempFolder, testDeps } from '../../support/world.ts';
import { HAS_STRACE } from '../machine.ts';

// File modes of what real processes write and read.

const LOOSE =
  /^Warning: (.*) is open to all users of this machine \(mode \d+\); (?:run "chmod o-rwx \1"|keep the database in a folder of its own, of mode 700)\.$/;

/** The files that warnings on stderr name. */
function warned(stderr: string): string[] {
  return stderr.split('\n').flatMap((line) => {
    const found = LOOSE.exec(line);
    return found?.[1] === undefined ? [] : [found[1]];
  });
}

test('with any umask, files written by an import, an approval and a server can be read only by their owner', async () => {
  const folder = tempFolder();
  const variables = { DATABASE_PATH: join(folder, 'data/profiles.db'), MAIL_URL: `file:${join(folder, 'mails')}` };
  const umask = process.umask(0);
  try {
    const stdin = '{"id":1,"username":"Ada","email":"ada@example.org"}\n';
    expect(await profilectl(['profiles', 'import', '-'], { variables, stdin })).toMatchObject({ code: 0, stderr: '' });
    const ask = ['keys', 'request', '--profile', 'Ada', '--name', 'Bot', '--permission', 'api.lookup', '--json'];
    const asked = await profilectl([...ask, '--description', 'x'.repeat(80)], { variables });
    const { identifier } = JSON.parse(asked.stdout);
    expect(await profilectl(['keys', 'approve', identifier], { variables })).toMatchObject({ code: 0 });
    const server = await startServerProcess(variables);
    await get(server, '/api/lookup/uid/1', 'plk_guess');
    // A looser one is never set, so no file can be created with it meanwhile.
    if (process.platform === 'linux') {
      expect(readFileSync(`/proc/${server.pid}/status`, 'utf8')).toContain('\nUmask:\t0077\n');
    }
    const seen = readdirSync(folder, { recursive: true, withFileTypes: true }).map((entry) => {
      const mode = statSync(join(entry.parentPath, entry.name)).mode & 0o777;
      return [entry.name.replace(/^\d{8}T.*$/, 'a mail'), entry.isDirectory() ? 'folder' : 'file', mode.toString(8)];
    });
    for (const [name, kind, mode] of seen) expect([name, mode]).toEqual([name, kind === 'folder' ? '700' : '600']);
    const names = seen.map(([name]) => name);
    for (const name of ['data', 'mails', 'a mail', 'profiles.db', 'profiles.db-wal', 'profiles.db.lock']) {
      expect(names).toContain(name as string);
    }
    expect(await server.end()).toBe(0);
  } finally {
    process.umask(umask);
  }
}, 30_000);

describe('a warning names files that all users can read', () => {
  test('the database, its folder and its write-ahead log, from every command and from the server', async () => {
    const deps = testDeps();
    const { databasePath } = deps.config;
    const variables = { DATABASE_PATH: databasePath };
    await keyFor(deps, ['1/1m']);
    expect(warned((await profilectl(['keys', 'list'], { variables })).stderr)).toEqual([]);
    chmodSync(databasePath, 0o644);
    expect(warned((await profilectl(['keys', 'list'], { variables })).stderr)).toContain(databasePath);
    chmodSync(deps.folder, 0o755);
    chmodSync(`${databasePath}-wal`, 0o644);
    // The database's warning stands for that of its write-ahead log.
    const all = [deps.folder, databasePath];
    expect(warned((await profilectl(['profiles', 'export'], { variables })).stderr)).toEqual(all);
    const server = await startServerProcess(variables);
    expect(warned(server.printed())).toEqual(all);
    expect(await server.end()).toBe(0);
    insertProfile(deps.db);
    chmodSync(databasePath, 0o600);
    chmodSync(`${databasePath}-wal`, 0o644);
    const log = [deps.folder, `${databasePath}-wal`];
    expect(warned((await profilectl(['profiles', 'export'], { variables })).stderr)).toEqual(log);
  }, 30_000);
});

/** No user or group with this number has to exist. */
const SERVICE = 65_534;
const AS_SERVICE = ['setpriv', `--reuid=${SERVICE}`, `--regid=${SERVICE}`, '--clear-groups'];

/**
 * Whether this is root, and that user may enter the folders of the program. If not, as under /root, the test is left
 * out rather than counted as skipped: no program to install is missing.
 */
function canRunAsService(): boolean {
  if (process.getuid?.() !== 0 || Bun.which('setpriv') === null) return false;
  return Bun.spawnSync([...AS_SERVICE, ...profilectlWords(['--version'])], { cwd: '/' }).success;
}

/** A folder whose parents everybody may enter, unlike those of a test run's own folder. */
function openFolder(): string {
  const folder = mkdtempSync('/tmp/profile-lookup-test-');
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

const testAsService = canRunAsService() ? test : () => undefined;

testAsService(
  'root can run commands as the service’s user from root’s folder, with settings that this user can only read',
  () => {
    const [roots, data, open] = [openFolder(), openFolder(), openFolder()];
    const settings = join(open, 'settings');
    chownSync(data, SERVICE, SERVICE);
    chmodSync(open, 0o755);
    writeFileSync(settings, `DATABASE_PATH=${data}/profiles.db\n`);
    chownSync(settings, 0, SERVICE);
    chmodSync(settings, 0o640);
    const run = (...words: string[]) => {
      const all = [...AS_SERVICE, ...profilectlWords(['--env-file', settings, ...words])];
      const stdin = Buffer.from('{"id":1,"username":"Ada"}\n');
      const { exitCode, stderr } = Bun.spawnSync(all, { cwd: roots, env: cleanEnvironment(), stdin });
      return { code: exitCode, stderr: String(stderr) };
    };
    expect(run('profiles', 'import', '-')).toEqual({ code: 0, stderr: '' });
    expect(run('db', 'check')).toEqual({ code: 0, stderr: '' });
    chmodSync(settings, 0o644);
    expect(warned(run('profiles', 'show', 'Ada').stderr)).toEqual([settings]);
  },
  30_000,
);

describe('secrets from files', () => {
  test('MAIL_URL_FILE holds the URL with its password, which appears nowhere else', async () => {
    const deps = testDeps();
    const smtp = await startSmtp({ login: { user: 'mailer', password: 'p@ss/w:rd' }, allowInsecureAuth: true });
    const { databasePath } = deps.config;
    insertProfile(deps.db);
    const path = join(deps.folder, 'mail-url');
    writeFileSync(path, `${smtp.url}\n`, { mode: 0o600 });
    const variables = { DATABASE_PATH: databasePath, MAIL_URL_FILE: path, MAIL_FROM: 'keys@example.net' };
    const ask = 'keys request --profile user1 --name Bot --permission api.lookup --json'.split(' ');
    const { identifier } = JSON.parse(
      (await profilectl([...ask, '--description', 'x'.repeat(80)], { variables })).stdout,
    );
    const done = await profilectl(['keys', 'approve', identifier], { variables });
    expect(done).toMatchObject({ code: 0 });
    expect(done.stdout + done.stderr).not.toContain('p@ss');
    expect(smtp.received.map(({ session }) => session.user)).toEqual(['mailer']);
  }, 30_000);
});

test.skipIf(!HAS_STRACE)('a file system that can’t share memory, such as of NFS, SMB or FUSE, is named as that', () => {
  const deps = testDeps();
  const path = deps.config.databasePath;
  const strace = ['strace', '-f', '-qq', '-o', '/dev/null', '-e', 'inject=mmap:error=ENODEV', '-P', `${path}-shm`];
  const { stderr } = Bun.spawnSync([...strace, ...profilectlWords(['keys', 'list', '--db', path])], {
    env: cleanEnvironment(),
  });
  expect(stderr.toString()).toContain('use a local disk, not NFS, SMB or FUSE');
});
