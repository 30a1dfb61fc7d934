import { expect, test } from 'bun:test';
import { existsSync, mkdirSync, readdirSync, readFileSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { listTokens } from '../../shared/backends/backend-tokens.ts';
import { noteTokenUse } from '../../shared/backends/token-uses.ts';
import { isoTime, systemClock } from '../../shared/clock.ts';
import { commandEnvironment, type Finished, PROJECT, profilectlWords } from '../support/cli.ts';
import { importLines } from '../support/import.ts';
import { runCommand } from '../support/machine/command.ts';
import { testAccess } from '../support/portal/access.ts';
import { tokenFor } from '../support/portal/manage.ts';
import { drawHalf, seededRandom } from '../support/rounds.ts';
import { tempFolder } from '../support/world.ts';

// The scripts of deploy/import/ and deploy/compose/, run by their shell.

const DAY_S = 86_400;

/** A folder with `profilectl` on its PATH, and other programs that replace the system's. */
function world(programs: Record<string, string> = {}, folder = tempFolder()) {
  const bin = join(folder, 'bin');
  mkdirSync(bin);
  const words = profilectlWords([]).map((word) => `'${word}'`);
  const all = { profilectl: `exec ${words.join(' ')} "$@"`, ...programs };
  for (const [name, script] of Object.entries(all)) {
    writeFileSync(join(bin, name), `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  }
  const database = join(folder, 'profiles.db');
  const run = async (script: string, variables: Record<string, string>, ...more: string[]): Promise<Finished> => {
    const env = commandEnvironment({ PATH: `${bin}:${process.env.PATH}`, DATABASE_PATH: database, ...variables });
    const child = Bun.spawn([join(PROJECT, 'deploy', script), ...more], { env, stdout: 'pipe', stderr: 'pipe' });
    const [stdout, stderr] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()]);
    return { code: await child.exited, stdout, stderr };
  };
  const count = async () => (await runCommand(['profiles', 'export', '--db', database])).stdout.split('\n').length - 1;
  return { folder, database, run, count };
}

const nowSeconds = () => systemClock.nowMs() / 1000;

test('the nightly import imports the file with its flags, and fails if a line was refused or the file is old', async () => {
  const { folder, run, count } = world();
  const file = join(folder, 'profiles.jsonl');
  const importIt = (more: Record<string, string> = {}) => run('import/import.sh', { PROFILES_FILE: file, ...more });
  writeFileSync(file, '{"id":1,"username":"Ada"}\n{"id":2,"username":"bob"}\n');
  expect((await importIt()).code).toBe(0);
  expect(await count()).toBe(2);
  writeFileSync(file, '{"id":1,"viewsCount":7}\n{"id":3}\n');
  const partly = await importIt({ IMPORT_FLAGS: '--merge --json' });
  expect([partly.code, JSON.parse(partly.stdout).refused.length]).toEqual([3, 1]);
  const old = nowSeconds() - 27 * 3_600;
  utimesSync(file, old, old);
  expect(await importIt()).toEqual({ code: 1, stdout: '', stderr: `${file} is more than 26 hours old.\n` });
  expect((await importIt({ PROFILES_FILE: join(folder, 'none') })).code).toBe(1);
});

const HOUR_MS = 3_600_000;

test('the nightly import keeps profiles newer than its file, by the time in the file beside it, which may not be old either', async () => {
  const { folder, database, run } = world();
  const file = join(folder, 'profiles.jsonl');
  writeFileSync(file, '{"id":1,"username":"Ada","banned":false}\n{"id":2,"username":"bob"}\n');
  const importIt = () => run('import/import.sh', { PROFILES_FILE: file, IMPORT_FLAGS: '--prune --json' });
  const asOf = (text: string) => writeFileSync(`${file}.as-of`, `${text}\n`);
  asOf(isoTime(systemClock.nowMs() - HOUR_MS));
  expect((await importIt()).code).toBe(0);
  expect(await runCommand(['profiles', 'ban', 'ada', '--db', database])).toMatchObject({ code: 0 });
  const { code, stdout } = await importIt();
  expect([code, JSON.parse(stdout)]).toMatchObject([0, { imported: 1, newer: 1 }]);
  const shown = await runCommand(['profiles', 'show', 'ada', '--json', '--db', database]);
  expect(JSON.parse(shown.stdout)).toMatchObject({ banned: true });
  asOf('yesterday');
  expect((await importIt()).code).toBe(2);
  const old = nowSeconds() - 27 * 3_600;
  utimesSync(`${file}.as-of`, old, old);
  expect(await importIt()).toMatchObject({ code: 1, stderr: `${file}.as-of is more than 26 hours old.\n` });
});

test('the nightly import refuses a file without a time if a backend has sent profiles', async () => {
  for (const kind of drawHalf(['a token was used', 'profiles came in'], seededRandom('signs of a backend'))) {
    const access = testAccess();
    const { folder, run, count } = world({}, access.folder);
    const file = join(folder, 'profiles.jsonl');
    writeFileSync(file, '{"id":1,"username":"Ada"}\n');
    const importIt = () => run('import/import.sh', { PROFILES_FILE: file });
    const token = tokenFor(access, { rights: ['profiles'] });
    tokenFor(access, { rights: ['sign-ins'], name: 'other' });
    // An unused token, and one that does not send profiles, do not matter.
    noteTokenUse(
      access.sessions,
      access.clock,
      listTokens(access).find(({ name }) => name === 'other')?.identifier ?? '',
    );
    expect([kind, await importIt()]).toMatchObject([kind, { code: 0 }]);
    if (kind === 'profiles came in') {
      await importLines(access, [{ id: 2, username: 'bob' }], { by: { kind: 'platform', name: 'backend' } });
    } else noteTokenUse(access.sessions, access.clock, token.split('_')[1] ?? '');
    const before = await count();
    writeFileSync(file, '{"id":3,"username":"cem"}\n');
    const { code, stderr } = await importIt();
    expect([kind, code, stderr]).toEqual([kind, 1, expect.stringContaining(`There is no ${file}.as-of`)]);
    expect(await count()).toBe(before);
    writeFileSync(`${file}.as-of`, `${isoTime(systemClock.nowMs())}\n`);
    expect([kind, await importIt()]).toMatchObject([kind, { code: 0 }]);
  }
});

test('an export writes the file and the time at which it began, both completely or neither', async () => {
  const { folder, run } = world({
    psql: 'echo "$5" >"$FOLDER/query"; echo \'{"id":1,"username":"ada"}\'; exit "$CODE"',
  });
  const file = join(folder, 'out.jsonl');
  const began = systemClock.nowMs();
  const exportIt = (more: Record<string, string>) => run('import/export.sh', { FOLDER: folder, ...more }, file);
  expect(await exportIt({ CODE: '0' })).toEqual({ code: 0, stdout: '', stderr: '' });
  const [lines, asOf] = [file, `${file}.as-of`].map((path) => readFileSync(path, 'utf8')) as [string, string];
  expect(lines).toBe('{"id":1,"username":"ada"}\n');
  const asOfMs = Date.parse(asOf.trim());
  expect([asOfMs >= began - 1_000, asOfMs <= systemClock.nowMs()]).toEqual([true, true]);
  expect(readFileSync(join(folder, 'query'), 'utf8')).toBe('SELECT line FROM profile_lines ORDER BY id\n');
  for (const path of [file, `${file}.as-of`]) writeFileSync(path, 'as before');
  expect((await exportIt({ CODE: '3', PROFILES_QUERY: 'SELECT 1' })).code).toBe(3);
  for (const path of [file, `${file}.as-of`]) expect(readFileSync(path, 'utf8')).toBe('as before');
});

test('the backup for containers makes a copy that can be restored, and deletes those older than five weeks', async () => {
  const { folder, database, run } = world();
  await runCommand(['profiles', 'import', '-', '--db', database], { stdin: '{"id":1,"username":"Ada"}\n' });
  const backups = join(folder, 'backups');
  mkdirSync(backups, { mode: 0o700 });
  for (const [name, days] of [
    ['profiles-old.db', 37],
    ['profiles-young.db', 34],
    ['mine.txt', 100],
  ] as const) {
    writeFileSync(join(backups, name), '');
    utimesSync(join(backups, name), nowSeconds() - days * DAY_S, nowSeconds() - days * DAY_S);
  }
  expect(await run('compose/backup.sh', { BACKUP_FOLDER: backups })).toMatchObject({ code: 0, stderr: '' });
  const left = readdirSync(backups).sort();
  expect(left).toEqual(['mine.txt', expect.stringMatching(/^profiles-\d{8}T\d{6}Z\.db$/), 'profiles-young.db']);
  const tried = await runCommand(['db', 'check', '--restore', join(backups, left[1] ?? ''), '--db', database]);
  expect(tried).toMatchObject({ code: 0, stdout: expect.stringContaining('restores 1 profile') });
});

test.each([
  ['2026-01-01 03:09:59', 1],
  ['2026-01-01 03:10:00', DAY_S],
  ['2026-01-01 12:00:00', 15 * 3_600 + 600],
  ['2026-02-28 23:59:59', 3 * 3_600 + 601],
])(
  'at %s the nightly command of a container waits for %i seconds, continues after a failure, and ends on TERM',
  async (now, seconds) => {
    // `date` prints this time, and the second `sleep` ends the script as an engine does.
    const { folder, run } = world({
      date: `case "$*" in *-d*) exec /bin/date -u -d "$(echo '${now}' | cut -d ' ' -f 1) 03:10 UTC" +%s;; esac\nexec /bin/date -u -d '${now} UTC' +%s`,
      sleep: `echo "$1" >> "$FOLDER/slept"; [ "$(wc -l < "$FOLDER/slept")" -lt 2 ] || kill "$PPID"`,
      job: 'echo ran >> "$FOLDER/ran"; exit 7',
    });
    const done = await run('compose/nightly.sh', { FOLDER: folder }, '03:10', 'job');
    expect(done.stderr).toContain('job exited with 7; the next run is tomorrow at 03:10 UTC.\n');
    expect(done.code).not.toBe(0);
    expect(readFileSync(join(folder, 'slept'), 'utf8')).toBe(`${seconds}\n${seconds}\n`);
    expect(readFileSync(join(folder, 'ran'), 'utf8')).toBe('ran\n');
  },
);

test('the files that compose.nightly.yaml names exist, and its containers have no health check', () => {
  const text = readFileSync(join(PROJECT, 'deploy/compose.nightly.yaml'), 'utf8');
  type Service = { entrypoint: string[]; command: string[]; volumes: string[]; healthcheck: { disable: boolean } };
  const { services } = Bun.YAML.parse(text) as { services: Record<string, Service> };
  expect(Object.keys(services)).toEqual(['backup', 'import']);
  for (const { entrypoint, command, volumes, healthcheck } of Object.values(services)) {
    expect(healthcheck.disable).toBe(true);
    const places = volumes.map((volume) => volume.split(':') as [string, string]);
    for (const path of [...entrypoint, ...command.slice(1)]) {
      const [source = '', target = ''] = places.find(([, mounted]) => path.startsWith(`${mounted}/`)) ?? [];
      expect([path, existsSync(join(PROJECT, 'deploy', source, path.slice(target.length)))]).toEqual([path, true]);
    }
  }
});
