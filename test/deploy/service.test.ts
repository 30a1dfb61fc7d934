import { expect, test } from 'bun:test';
import { globSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { parseEnv } from 'node:util';
import { readConfig } from '../../shared/config/config.ts';
import { SECRET_FILES, VARIABLES } from '../../shared/config/variables.ts';
import { PROJECT } from '../support/cli.ts';

// The systemd units, checked by systemd itself, and the variables in all files of deploy/.

const read = (path: string) => readFileSync(join(PROJECT, path), 'utf8');

const UNIT = join(PROJECT, 'deploy/profile-lookup.service');

/** The highest exposure allowed, in tenths of 0 to 10; versions of systemd differ by a tenth or two. */
const MAX_EXPOSURE = '15';

async function analyze(...words: string[]) {
  const child = Bun.spawn(['systemd-analyze', ...words], { stdin: 'ignore', stdout: 'pipe', stderr: 'pipe' });
  const [stdout, stderr] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()]);
  return { code: await child.exited, stdout, stderr };
}

const isAbsent = Bun.which('systemd-analyze') === null;

test.skipIf(isAbsent)('systemd finds no problem in any unit', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'units-'));
  // systemd also checks that the programs exist: ours is installed with the units, which are beside their scripts.
  const units = globSync('deploy/**/*.{service,timer}', { cwd: PROJECT }).map((path) => {
    const copy = join(folder, basename(path));
    const text = read(path).replace('/usr/local/lib/profile-lookup', join(PROJECT, dirname(path)));
    writeFileSync(copy, text.replace('/usr/local/bin/profilectl', process.execPath));
    return copy;
  });
  expect(units.length).toBeGreaterThan(8);
  expect(await analyze('verify', '--man=no', ...units)).toEqual({ code: 0, stdout: '', stderr: '' });
  rmSync(folder, { recursive: true });
});

test('the service sees the secret files where commands and jobs read them, and nothing else in their folder', () => {
  const example = parseEnv(read('deploy/settings.example').replaceAll(/^#(?=[A-Z_]+=)/gm, ''));
  const unit = read('deploy/profile-lookup.service');
  const seen = [...unit.matchAll(/^BindReadOnlyPaths=(.*)$/gm)].map(([, path]) => path);
  expect(unit).toContain('\nTemporaryFileSystem=/etc/profile-lookup:ro\n');
  expect(seen).toEqual(SECRET_FILES.map((name) => `-${example[name]}`));
  for (const path of globSync('deploy/{backup,import}/*.service', { cwd: PROJECT })) {
    expect(read(path)).not.toMatch(/^(?:InaccessiblePaths|TemporaryFileSystem|LoadCredential)=/m);
  }
});

test.skipIf(isAbsent)('systemd rates the exposure of the service at 1.5 of 10 or less', async () => {
  const rating = await analyze('security', '--offline=true', '--no-pager', `--threshold=${MAX_EXPOSURE}`, UNIT);
  expect(rating).toMatchObject({ code: 0, stdout: expect.stringContaining('Overall exposure level') });
});

/** Variables of the scripts in deploy/, and of Caddy. */
const OTHERS = ['UPSTREAM', 'PROFILES_FILE', 'IMPORT_FLAGS', 'BACKUP_FOLDER'];

test('the variables that the files of deploy/ set exist and would be accepted', () => {
  const deploy = readdirSync(join(PROJECT, 'deploy'), { withFileTypes: true }).filter((entry) => entry.isFile());
  const files = [...deploy.map(({ name }) => `deploy/${name}`), 'Dockerfile'];
  for (const file of files) {
    const set = [...read(file).matchAll(/(?:^#? +|^ENV |\s)([A-Z][A-Z_]{3,})(?:=|: )([^\s"]+)/gm)];
    const variables = Object.fromEntries(set.map(([, name, value]) => [name, value]));
    for (const name of OTHERS) delete variables[name];
    expect([file, Object.keys(variables).filter((name) => !(name in VARIABLES))]).toEqual([file, []]);
    // The operator writes the file with the secret.
    expect(() => readConfig({ ...variables, MAIL_URL_FILE: '', PUBLIC_URL: 'https://a.example' })).not.toThrow();
  }
});
