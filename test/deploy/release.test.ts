import { afterAll, beforeAll, expect, test } from 'bun:test';
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { VERSION } from '../../shared/version.ts';
import { PROJECT } from '../support/cli.ts';
import { startServerProcess } from '../support/machine.ts';
import { tempFolder } from '../support/world.ts';

// `bun run release`, run for real, and the unpacked package. Compressing takes as long as a tenth of all other tests, so it is
// part of `bun run test:long`, which precedes each release.

/** Release files are large. They are not searched for secrets, because nothing ran when they were made. */
const FOLDER = mkdtempSync(join(tmpdir(), 'profile-lookup-release-test-'));
afterAll(() => rmSync(FOLDER, { recursive: true, force: true }));

const OUT = join(FOLDER, 'release');
const ROOT = join(FOLDER, 'root');
const PROGRAM = join(ROOT, 'usr/bin/profilectl');
const SETTINGS = join(ROOT, 'etc/profile-lookup/settings');
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
  for (const path of ['/usr/bin/profilectl', '/usr/lib/profile-lookup/backup.sh'])
    expect([path, modes.get(path)?.[0]]).toEqual([path, '-rwxr-xr-x']);
  for (const unit of ['profile-lookup.service', 'profile-lookup-backup.service', 'profile-lookup-backup.timer'])
    expect(readFileSync(join(ROOT, 'usr/lib/systemd/system', unit), 'utf8')).not.toContain('/usr/local/');
  expect(await output(['dpkg-deb', '--field', join(OUT, DEB), 'Package', 'Architecture'])).toBe(
    'Package: profile-lookup\nArchitecture: amd64\n',
  );
});

test('the unpacked program shows its version, and serves with the settings of the package', async () => {
  const folder = tempFolder();
  expect(await output([PROGRAM, '--version'], { PATH: '' })).toStartWith(`${VERSION} (`);
  const server = await startServerProcess(
    { PATH: '', DATABASE_PATH: join(folder, 'profiles.db') },
    { words: [PROGRAM, 'serve', '--env-file', SETTINGS], cwd: folder },
  );
  expect(await (await fetch(`${server.url}/readyz`)).json()).toEqual({ status: 'ok' });
  expect(await server.end()).toBe(0);
});
