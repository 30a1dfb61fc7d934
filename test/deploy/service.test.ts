import { expect, test } from 'bun:test';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { readConfig } from '../../shared/config/config.ts';
import { VARIABLES } from '../../shared/config/variables.ts';
import { PROJECT } from '../support/cli.ts';

// The systemd unit, checked by systemd itself; and the variables in all files of deploy/.

const read = (path: string) => readFileSync(join(PROJECT, path), 'utf8');

const UNIT = join(PROJECT, 'deploy/profile-lookup.service');

/** The most exposed that the unit may be, in tenths of 0 to 10; versions of systemd differ by a tenth or two. */
const MOST_EXPOSED = '15';

async function analyze(...words: string[]) {
  const child = Bun.spawn(['systemd-analyze', ...words, UNIT], { stdin: 'ignore', stdout: 'pipe', stderr: 'pipe' });
  const [stdout, stderr] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()]);
  return { code: await child.exited, stdout, stderr };
}

const isAbsent = Bun.which('systemd-analyze') === null;

test.skipIf(isAbsent)('systemd finds no fault in the unit', async () => {
  expect(await analyze('verify', '--man=no')).toEqual({ code: 0, stdout: '', stderr: '' });
});

test.skipIf(isAbsent)('systemd rates its exposure at 1.5 of 10 or less', async () => {
  const rating = await analyze('security', '--offline=true', '--no-pager', `--threshold=${MOST_EXPOSED}`);
  expect(rating).toMatchObject({ code: 0, stdout: expect.stringContaining('Overall exposure level') });
});

/** Variables of the scripts beside these files, and of Caddy. */
const OTHERS = ['UPSTREAM', 'PROFILES_FILE', 'IMPORT_FLAGS', 'BACKUP_FOLDER'];

test('the variables that the files of deploy/ set are ours, and would be accepted', () => {
  const deploy = readdirSync(join(PROJECT, 'deploy'), { withFileTypes: true }).filter((entry) => entry.isFile());
  const files = [...deploy.map(({ name }) => `deploy/${name}`), 'Dockerfile'];
  for (const file of files) {
    const set = [...read(file).matchAll(/(?:^#? +|^ENV |\s)([A-Z][A-Z_]{3,})(?:=|: )([^\s"]+)/gm)];
    const variables = Object.fromEntries(set.map(([, name, value]) => [name, value]));
    for (const name of OTHERS) delete variables[name];
    expect([file, Object.keys(variables).filter((name) => !(name in VARIABLES))]).toEqual([file, []]);
    // The secret's file is the operator's to write.
    expect(() => readConfig({ ...variables, MAIL_URL_FILE: '', PUBLIC_URL: 'https://a.example' })).not.toThrow();
  }
});
