import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import {
  cpSync,
  existsSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { TARGETS } from '../../deploy/release/targets.ts';
import { VERSION } from '../../shared/version.ts';
import { PROJECT } from '../support/cli.ts';
import { get } from '../support/http.ts';
import { createDebianRoot, type DebianRoot, NO_DEBIAN_ROOT } from '../support/machine/debian-root.ts';
import { CANNOT_FOLLOW, followPage, pageBlocks, prepareForPage } from '../support/machine/install-page.ts';
import { startServerProcess } from '../support/machine/server-process.ts';
import { rounds } from '../support/rounds.ts';

// `bun run release`, run for real, and its programs. `test:long` builds all targets, and runs the one for arm64
// by qemu, with Debian's qemu-user-static and libc6-arm64-cross.

const IS_LONG = rounds(100) === 100;

const AMD64 = 'linux-x64-baseline';
const ARM64 = 'linux-arm64';
const MADE = IS_LONG ? TARGETS.map(({ name }) => name) : [AMD64];

/** Release files are large. They are not searched for secrets, because nothing ran when they were made. */
const FOLDER = mkdtempSync(join(tmpdir(), 'profile-lookup-release-test-'));
const OUT = join(FOLDER, 'release');
afterAll(() => rmSync(FOLDER, { recursive: true, force: true }));

/** Runs a program to its end; throws its output if it fails. */
async function output(
  words: readonly string[],
  options: { cwd?: string; env?: Record<string, string>; stdin?: Uint8Array } = {},
) {
  const child = Bun.spawn([...words], { stdin: 'ignore', stdout: 'pipe', stderr: 'pipe', ...options });
  const [stdout, stderr] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()]);
  if ((await child.exited) !== 0) throw new Error(`${words.join(' ')}: ${stdout}${stderr}`);
  return stdout;
}

const release = (checkout: string, out: string, targets: readonly string[], env?: Record<string, string>) =>
  output(
    [
      process.execPath,
      '--no-env-file',
      'deploy/release/run.ts',
      // Compressing takes long.
      ...(IS_LONG ? [] : ['--uncompressed']),
      '--out',
      out,
      ...targets.flatMap((name) => ['--target', name]),
    ],
    { cwd: checkout, ...(env && { env }) },
  );

beforeAll(async () => {
  await release(PROJECT, OUT, MADE);
}, 300_000);

const archiveOf = (target: string) => `profile-lookup-${VERSION}-${target}`;
const debOf = (architecture: string) => join(OUT, `profile-lookup_${VERSION}_${architecture}.deb`);

test('each target has its archive and Debian package, and SHA256SUMS lists them all', async () => {
  const archives = MADE.map((target) => `${archiveOf(target)}.tar.gz`);
  const architectures = TARGETS.flatMap(({ name, debian }) => (debian !== null && MADE.includes(name) ? [debian] : []));
  const debs = architectures.map((name) => `profile-lookup_${VERSION}_${name}.deb`);
  const files = [...archives, ...debs, `profile-lookup-${VERSION}.cdx.json`];
  expect(readdirSync(OUT).sort()).toEqual([...files, 'SHA256SUMS'].sort());
  // The commands of docs/install.md check them with sha256sum.
  const sums = files.sort().map((name) => `${Bun.SHA256.hash(readFileSync(join(OUT, name)), 'hex')}  ${name}\n`);
  expect(readFileSync(join(OUT, 'SHA256SUMS'), 'utf8')).toBe(sums.join(''));
});

test.each(MADE)('the archive for %s contains the program, the documents and samples', async (target) => {
  const name = archiveOf(target);
  const tar = Bun.gunzipSync(readFileSync(join(OUT, `${name}.tar.gz`)), { library: 'libdeflate' });
  const listed = await output(['tar', '--list', '--verbose', '--numeric-owner'], { stdin: tar });
  const lines = listed
    .trim()
    .split('\n')
    .map((line) => line.split(/\s+/));
  const [seconds = ''] = (await output(['git', 'log', '-1', '--format=%ct'], { cwd: PROJECT })).split('\n');
  const day = new Date(Number(seconds) * 1_000);
  for (const [mode, owner, , date, , path = ''] of lines) {
    expect(owner).toBe('0/0');
    expect(new Date(`${date}T00:00:00`).getTime()).toBeLessThanOrEqual(day.getTime());
    const wanted = path.endsWith('/') ? 'drwxr-xr-x' : /\/profilectl$|\.sh$/.test(path) ? '-rwxr-xr-x' : '-rw-r--r--';
    expect([path, mode]).toEqual([path, wanted]);
  }
  const paths = lines.map(([, , , , , path = '']) => path.slice(name.length + 1));
  const wanted = [
    'profilectl',
    'README.md',
    'docs/operating.md',
    'deploy/profile-lookup.service',
    'deploy/settings.example',
    'deploy/Caddyfile',
  ];
  expect(wanted.filter((path) => !paths.includes(path))).toEqual([]);
  expect(paths.filter((path) => /mail-url|compose|^test|^deploy\/release/.test(path))).toEqual([]);
});

/** Runs what a first user runs: the version, the help, and the demo with a profile and a page. */
async function tryOut(words: (...more: string[]) => string[], environment: Record<string, string>, root: string) {
  const ask = (...more: string[]) => output(words(...more), { env: environment });
  expect(await ask('--version')).toStartWith(VERSION);
  expect(await ask('keys', 'approve', '--help')).toStartWith('Usage: profilectl keys approve');
  const listening = /running on (http:\S+) with 50 sample profiles/;
  // qemu is slow.
  const options = { words: words('demo'), environment, listening, patienceMs: 50_000 };
  const demo = await startServerProcess({}, options);
  const [, mails = '', identifier = ''] = await demo.see(/^ {2}(\S+)\/\*-approval-(\w{8})\.eml$/m);
  await demo.see(/Ctrl-C/);
  const [mail = ''] = readdirSync(join(root, mails)).filter((name) => name.endsWith(`-approval-${identifier}.eml`));
  const [secret = ''] = /plk_\w{8}_\w{38}/.exec(readFileSync(join(root, mails, mail), 'utf8')) ?? [];
  const answer = await get({ url: demo.url }, '/api/lookup/username/Ada', secret);
  expect([answer.status, await answer.json()]).toMatchObject([200, { id: 7, username: 'Ada' }]);
  expect((await fetch(`${demo.url}/developers`)).status).toBe(200);
  expect(await demo.end('SIGINT')).toBe(0);
}

/** Makes a Debian with nothing but its base, once. Whoever installs the package in it removes it with all its data. */
let debian: DebianRoot | undefined;
function debianRoot(): DebianRoot {
  debian ??= createDebianRoot(join(FOLDER, 'debian'));
  return debian;
}

const REMOVE =
  'dpkg --purge profile-lookup\nuserdel profile-lookup\nrm -rf /var/lib/profile-lookup /etc/profile-lookup\n';

describe.skipIf(NO_DEBIAN_ROOT !== null)('the package for amd64, on a Debian with nothing but its base', () => {
  let root: DebianRoot;
  const AS_SERVICE = ['setpriv', '--reuid=profile-lookup', '--regid=profile-lookup', '--clear-groups', '--reset-env'];
  const SETTINGS = ['--env-file', '/etc/profile-lookup/settings'];

  /** Runs a program inside, which has to succeed. */
  async function inside(...words: string[]): Promise<string> {
    const { code, stdout, stderr } = await root.run(...words);
    expect({ words, code, stderr }).toEqual({ words, code: 0, stderr: '' });
    return stdout;
  }
  const profilectl = (...words: string[]) => inside(...AS_SERVICE, 'profilectl', ...SETTINGS, ...words);
  const modeOf = (path: string) => inside('stat', '--format=%a %U:%G', path);

  beforeAll(async () => {
    root = debianRoot();
    cpSync(debOf('amd64'), join(root.folder, 'tmp/package.deb'));
    expect(await inside('dpkg', '--audit')).toBe('');
    expect(await inside('dpkg', '--install', '/tmp/package.deb')).toContain(
      'Write the settings in /etc/profile-lookup',
    );
  }, 120_000);
  afterAll(() => inside('sh', '-e', '-c', REMOVE));

  test("it creates its user, and folders and settings that others can't read", async () => {
    expect(await inside('getent', 'passwd', 'profile-lookup')).toMatch(
      /:\/var\/lib\/profile-lookup:\/usr\/sbin\/nologin\n$/,
    );
    expect(await modeOf('/var/lib/profile-lookup')).toBe('700 profile-lookup:profile-lookup\n');
    expect(await modeOf('/etc/profile-lookup')).toBe('750 root:profile-lookup\n');
    expect(await modeOf('/etc/profile-lookup/settings')).toBe('640 root:profile-lookup\n');
    expect(await inside('dpkg', '--verify', 'profile-lookup')).toBe('');
  });

  test('the programs that its units start exist', async () => {
    const folder = join(root.folder, 'usr/lib/systemd/system');
    const units = readdirSync(folder).filter((name) => name.startsWith('profile-lookup'));
    expect(units).toContain('profile-lookup.service');
    expect(units).toContain('profile-lookup-backup.timer');
    for (const unit of units) {
      for (const [, path = ''] of readFileSync(join(folder, unit), 'utf8').matchAll(
        /^ExecStart=.*?(\/usr\/\S+)(?: serve)?$/gm,
      )) {
        await inside('test', '-x', path);
      }
    }
  });

  test('the program shows its version, help and the demo', async () => {
    await tryOut((...more) => root.words('profilectl', ...more), {}, root.folder);
  }, 60_000);

  test('an upgrade keeps settings and database, and a purge keeps the database', async () => {
    const settings = join(root.folder, 'etc/profile-lookup/settings');
    writeFileSync(settings, `${readFileSync(settings, 'utf8')}PORT=0\n`);
    const changed = readFileSync(settings, 'utf8');
    writeFileSync(join(root.folder, 'tmp/in.jsonl'), '{"id":7,"username":"Ada","email":"ada@example.org"}\n');
    await profilectl('profiles', 'import', '/tmp/in.jsonl');
    await inside('dpkg', '--install', '/tmp/package.deb');
    expect(readFileSync(settings, 'utf8')).toBe(changed);
    expect(await profilectl('profiles', 'export')).toStartWith('{"id":7,');

    await inside('dpkg', '--remove', 'profile-lookup');
    expect(readFileSync(settings, 'utf8')).toBe(changed);
    expect((await root.run('profilectl', '--version')).code).not.toBe(0);
    expect(await inside('dpkg', '--purge', 'profile-lookup')).toContain('are kept.');
    expect((await root.run('test', '-e', '/etc/profile-lookup')).code).toBe(1);
    expect(await modeOf('/var/lib/profile-lookup/profiles.db')).toBe('600 profile-lookup:profile-lookup\n');

    await inside('dpkg', '--install', '/tmp/package.deb');
    expect(await inside(...AS_SERVICE, 'profilectl', ...SETTINGS, 'profiles', 'export')).toStartWith('{"id":7,');
  }, 60_000);
});

/** The secret in the approval mail in this folder. */
function mailedSecret(mails: string): string {
  const name = readdirSync(mails).find((one) => one.includes('-approval-')) ?? '';
  return /plk_\w{8}_\w{38}/.exec(readFileSync(join(mails, name), 'utf8'))?.[0] ?? '';
}

describe.skipIf(CANNOT_FOLLOW !== null)('the commands of docs/install.md, run in order on a Debian', () => {
  const WITHOUT = 'Without the package';
  const READY = '{"status":"ok"}';
  let root: DebianRoot;

  beforeAll(() => {
    root = debianRoot();
    prepareForPage(root, [debOf('amd64'), join(OUT, 'SHA256SUMS')]);
  }, 120_000);

  test('lead from the package to a lookup and a restored backup', async () => {
    const blocks = pageBlocks().filter(({ heading }) => heading !== WITHOUT);
    const printed = await followPage(
      root,
      blocks.map(({ text }) => text),
      mailedSecret,
    );
    const under = (heading: string) => printed.filter((_, at) => blocks[at]?.heading === heading).join('');
    expect(under('1. The program')).toContain(`profile-lookup_${VERSION}_amd64.deb: OK\n`);
    expect(under('1. The program')).toContain(`\n${VERSION} (`);
    expect(under('2. Settings')).toMatch(/PUBLIC_URL +https:\/\/api\.example\.org .*Written to the folder \S+\.\n$/s);
    expect(under('3. Profiles')).toStartWith('Imported 2 lines;');
    expect(under('4. The server, and HTTPS with Caddy')).toEndWith(READY);
    expect(under('5. The first key')).toMatch(/\bpending\b.*\b\w{8} Active\n\{"id":7,"username":"ada",[^\n]*\}$/s);
    expect(under('6. The first admin')).toContain('https://api.example.org/developers/enrol#');
    expect(under('7. Backups')).toContain('created restic repository');
    // The scripts leave no copy of the database. Restic keeps its own files there.
    const cached = readdirSync(join(root.folder, 'var/cache/profile-lookup'));
    expect(cached.filter((name) => /^(backup|restore-test)/.test(name))).toEqual([]);
    expect(under('8. Monitoring')).toMatch(/^Restore test \d+s ago, of .*^No warnings\.$/ms);
  }, 60_000);

  test('lead from the archive to a server with HTTPS', async () => {
    const archive = `${archiveOf(AMD64)}.tar.gz`;
    linkSync(join(OUT, archive), join(root.folder, 'root', archive));
    const all = pageBlocks();
    const wanted = [WITHOUT, '2. Settings', '3. Profiles', '4. The server, and HTTPS with Caddy'];
    const blocks = wanted.flatMap((heading) => all.filter((block) => block.heading === heading));
    const printed = await followPage(root, [REMOVE, ...blocks.map(({ text }) => text)], mailedSecret);
    expect(printed.at(-1)).toEndWith(READY);
    expect(existsSync(join(root.folder, 'usr/bin/profilectl'))).toBe(false);
  }, 60_000);
});

const QEMU = 'qemu-aarch64-static';
/** Debian's C library for arm64, of the package libc6-arm64-cross. */
const ARM64_LIBRARIES = '/usr/aarch64-linux-gnu';

/** Debian's library that shows a program another time. */
const FAKETIME = '/usr/lib/x86_64-linux-gnu/faketime/libfaketime.so.1';

if (IS_LONG) {
  test.skipIf(Bun.which(QEMU) === null || Bun.which('dpkg-deb') === null)(
    'the program in the package for arm64 runs on that processor: version, help and the demo',
    async () => {
      const folder = join(FOLDER, 'arm64');
      await output(['dpkg-deb', '--extract', debOf('arm64'), folder]);
      const program = join(folder, 'usr/bin/profilectl');
      const temporary = join(FOLDER, 'arm64-temporary');
      mkdirSync(temporary);
      await tryOut(
        (...more) => [QEMU, '-L', ARM64_LIBRARIES, program, ...more],
        { TMPDIR: temporary, PATH: '/usr/bin' },
        '/',
      );
      // The archive contains the same program.
      const packed = `${archiveOf(ARM64)}/profilectl`;
      await output([
        'tar',
        '--extract',
        '--gzip',
        '--file',
        join(OUT, `${archiveOf(ARM64)}.tar.gz`),
        '--directory',
        folder,
        packed,
      ]);
      await output(['cmp', program, join(folder, packed)]);
    },
    60_000,
  );

  test.skipIf(!existsSync(FAKETIME))(
    'the same commit produces the same bytes in another folder, at another time and in another time zone',
    async () => {
      const checkout = join(FOLDER, 'another/folder/that is deeper');
      await copyCheckout(checkout);
      const out = join(FOLDER, 'again');
      const { PATH = '', HOME = '' } = process.env;
      await release(checkout, out, MADE, {
        LD_PRELOAD: FAKETIME,
        FAKETIME: '+400d',
        PATH,
        HOME,
        TZ: 'Pacific/Auckland',
      });
      expect(readdirSync(out).sort()).toEqual(readdirSync(OUT).sort());
      for (const name of readdirSync(OUT)) await output(['cmp', join(OUT, name), join(out, name)]);
    },
    300_000,
  );
}

/** Makes a checkout of this commit with its uncommitted changes and its dependencies. */
async function copyCheckout(checkout: string): Promise<void> {
  const git = (...words: string[]) => output(['git', ...words], { cwd: PROJECT });
  await git('clone', '--quiet', PROJECT, checkout);
  const changed = await git('diff', '--name-only', '-z', 'HEAD');
  const added = await git('ls-files', '-z', '--others', '--exclude-standard');
  for (const path of (changed + added).split('\0').filter(Boolean)) {
    if (existsSync(join(PROJECT, path))) cpSync(join(PROJECT, path), join(checkout, path));
    else rmSync(join(checkout, path));
  }
  await output([process.execPath, 'install', '--frozen-lockfile', '--silent'], { cwd: checkout });
  const cache = 'node_modules/.cache/release';
  cpSync(join(PROJECT, cache), join(checkout, cache), { recursive: true });
}
