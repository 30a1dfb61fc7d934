import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { SECRET_FILES } from '../../shared/config/config.ts';
import { VERSION } from '../../shared/version.ts';
import { NO_JIT, PROJECT } from '../support/cli.ts';
import { startServerProcess } from '../support/machine.ts';
import { tempFolder } from '../support/world.ts';

// `bun run release`, run for real, and the unpacked package: its program, units and backup.

/** Release files are large. They are not searched for secrets, because nothing ran when they were made. */
const FOLDER = mkdtempSync(join(tmpdir(), 'profile-lookup-release-test-'));
afterAll(() => rmSync(FOLDER, { recursive: true, force: true }));

const OUT = join(FOLDER, 'release');
const ROOT = join(FOLDER, 'root');
const PROGRAM = join(ROOT, 'usr/bin/profilectl');
const SETTINGS = join(ROOT, 'etc/profile-lookup/settings');
const UNITS = join(ROOT, 'usr/lib/systemd/system');
const DEB = `profile-lookup_${VERSION}_amd64.deb`;
const ARCHIVE = `profile-lookup-${VERSION}-linux-x64.tar.gz`;

/** Runs a program to its end; throws its output if it fails. */
async function output(words: readonly string[], env?: Record<string, string>): Promise<string> {
  const child = Bun.spawn([...words], {
    cwd: PROJECT,
    stdin: 'ignore',
    stdout: 'pipe',
    stderr: 'pipe',
    ...(env && { env }),
  });
  const [stdout, stderr] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()]);
  if ((await child.exited) !== 0) throw new Error(`${words.join(' ')}: ${stdout}${stderr}`);
  return stdout;
}

beforeAll(async () => {
  // Compressing takes longer than all else.
  const fast = { PATH: process.env.PATH ?? '', HOME: FOLDER, GZIP: '-1', DPKG_DEB_COMPRESSOR_LEVEL: '1' };
  await output([process.execPath, '--no-env-file', 'deploy/release.ts', OUT, 'linux-x64'], fast);
  await output(['dpkg-deb', '--extract', join(OUT, DEB), ROOT]);
}, 300_000);

test('SHA256SUMS lists the archive and the package, which contain the same program', async () => {
  expect(readdirSync(OUT).sort()).toEqual(['SHA256SUMS', ARCHIVE, DEB]);
  expect(await output(['sh', '-c', 'cd "$1" && sha256sum --check --strict SHA256SUMS', '-', OUT])).toBe(
    `${ARCHIVE}: OK\n${DEB}: OK\n`,
  );
  await output(['tar', '--extract', '--gzip', '--file', join(OUT, ARCHIVE), '--directory', FOLDER]);
  const unpacked = join(FOLDER, ARCHIVE.replace('.tar.gz', ''));
  await output(['cmp', PROGRAM, join(unpacked, 'profilectl')]);
  for (const path of ['README.md', 'docs/install.md', 'deploy/Caddyfile', 'deploy/profile-lookup.service']) {
    expect(statSync(join(unpacked, path)).mode & 0o777).toBe(0o644);
  }
});

test("everything in the package belongs to root, and others can't read the settings", async () => {
  const lines = (await output(['dpkg-deb', '--contents', join(OUT, DEB)])).trim().split('\n');
  const modes = new Map(lines.map((line) => line.split(/\s+/)).map((cells) => [cells[5]?.slice(1), cells]));
  for (const [, cells] of modes) expect(cells[1]).toBe('root/root');
  expect(modes.get('/etc/profile-lookup/settings')?.[0]).toBe('-rw-r-----');
  expect(modes.get('/usr/bin/profilectl')?.[0]).toBe('-rwxr-xr-x');
  expect(await output(['dpkg-deb', '--field', join(OUT, DEB), 'Package', 'Architecture'])).toBe(
    'Package: profile-lookup\nArchitecture: amd64\n',
  );
});

test('the unpacked program shows its version, and serves with the settings of the package', async () => {
  const folder = tempFolder();
  expect(await output([PROGRAM, '--version'], { PATH: '' })).toStartWith(`${VERSION} (`);
  const server = await startServerProcess(
    {},
    {
      words: [PROGRAM, 'serve', '--env-file', SETTINGS],
      environment: { PATH: '', PORT: '0', DATABASE_PATH: join(folder, 'profiles.db') },
      cwd: folder,
    },
  );
  expect(await (await fetch(`${server.url}/readyz`)).json()).toEqual({ status: 'ok' });
  expect(await server.end()).toBe(0);
});

describe.skipIf(Bun.which('systemd-analyze') === null)('the units', () => {
  test('systemd finds no problem in them', async () => {
    const folder = tempFolder();
    const copies = readdirSync(UNITS).map((name) => {
      const copy = join(folder, name);
      // systemd also checks that the programs exist.
      const text = readFileSync(join(UNITS, name), 'utf8').replaceAll('=/usr/', `=${ROOT}/usr/`);
      writeFileSync(copy, text);
      return copy;
    });
    expect(copies.length).toBe(3);
    expect(await output(['systemd-analyze', 'verify', '--man=no', ...copies])).toBe('');
  });

  test('the service sees its settings and secret files, and nothing else in their folder', () => {
    const unit = readFileSync(join(UNITS, 'profile-lookup.service'), 'utf8');
    const seen = [...unit.matchAll(/^BindReadOnlyPaths=(.*)$/gm)].map(([, path]) => path);
    const example = readFileSync(SETTINGS, 'utf8');
    const secrets = SECRET_FILES.map((name) => new RegExp(`^#${name}=(.*)$`, 'm').exec(example)?.[1]);
    expect(unit).toContain('\nTemporaryFileSystem=/etc/profile-lookup:ro\n');
    expect(seen).toEqual(['/etc/profile-lookup/settings', ...secrets.map((path) => `-${path}`)]);
  });

  test('systemd rates the exposure of the service at 1.5 of 10 or less', async () => {
    const words = ['security', '--offline=true', '--no-pager', '--threshold=15', join(UNITS, 'profile-lookup.service')];
    expect(await output(['systemd-analyze', ...words])).toContain('Overall exposure level');
  });
});

test.skipIf(Bun.which('restic') === null)(
  'a backup is sent off-site, checked, and restored elsewhere',
  async () => {
    const folder = tempFolder();
    const settings = join(folder, 'settings');
    writeFileSync(settings, `DATABASE_PATH=${join(folder, 'profiles.db')}\n`, { mode: 0o600 });
    writeFileSync(join(folder, 'password'), 'for this test only');
    writeFileSync(join(folder, 'in.jsonl'), '{"id":7,"username":"Ada"}\n{"id":8,"username":"Grace"}\n');
    mkdirSync(join(folder, 'cache'));
    const env = {
      PATH: `${join(ROOT, 'usr/bin')}:${process.env.PATH}`,
      SETTINGS: settings,
      CACHE_DIRECTORY: join(folder, 'cache'),
      XDG_CACHE_HOME: join(folder, 'restic-cache'),
      RESTIC_SETTINGS: join(folder, 'restic'),
      ...NO_JIT,
    };
    // A repository's URL may have what a shell would act on.
    const restic = {
      RESTIC_REPOSITORY: `${join(folder, 'off-site')} $HOME & co;`,
      RESTIC_PASSWORD_FILE: join(folder, 'password'),
    };
    const lines = Object.entries(restic).map(([name, value]) => `${name}='${value}'\n`);
    writeFileSync(join(folder, 'restic'), lines.join(''));
    const profilectl = (...words: string[]) => output([PROGRAM, '--env-file', settings, ...words], env);
    await profilectl('profiles', 'import', join(folder, 'in.jsonl'));
    const before = await profilectl('profiles', 'export');
    await output(['restic', 'init'], { ...env, ...restic });
    await output([join(ROOT, 'usr/lib/profile-lookup/backup.sh')], env);
    // No copy of the database stays in the clear.
    expect(readdirSync(join(folder, 'cache'))).toEqual([]);

    // The site is lost.
    for (const name of readdirSync(folder)) if (name.startsWith('profiles.db')) rmSync(join(folder, name));
    await output(['restic', 'restore', 'latest', '--tag', 'profile-lookup', '--target', join(folder, 'back')], {
      ...env,
      ...restic,
    });
    await profilectl('db', 'restore', '--yes', join(folder, 'back/profiles.db'));
    expect(await profilectl('profiles', 'export')).toBe(before);

    // A damaged copy off-site fails the unit.
    const broken = join(folder, 'broken');
    mkdirSync(broken);
    writeFileSync(join(broken, 'restic'), `#!/bin/sh\nif [ "$1" = restore ]; then echo no database >profiles.db; fi\n`);
    chmodSync(join(broken, 'restic'), 0o755);
    await expect(
      output([join(ROOT, 'usr/lib/profile-lookup/backup.sh')], { ...env, PATH: `${broken}:${env.PATH}` }),
    ).rejects.toThrow();
  },
  60_000,
);
