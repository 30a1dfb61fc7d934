import { describe, expect, test } from 'bun:test';
import { copyFileSync, existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { openBare } from '../../../shared/db/connect.ts';
import { MIGRATIONS } from '../../../shared/db/migrate.ts';
import { backupDatabase } from '../../../shared/upkeep/backup.ts';
import { readLastDone } from '../../../shared/upkeep/chore-times.ts';
import { commandEnvironment, profilectl, profilectlWords } from '../../support/cli.ts';
import { importLines } from '../../support/import.ts';
import { startServerProcess } from '../../support/machine/server-process.ts';
import { nextVersion } from '../../support/machine/upgrade.ts';
import { tempFolder, testDeps } from '../../support/world.ts';

/** A database with one profile, a backup of it, and `db check --restore` with its own temporary folder. */
async function world() {
  const folder = tempFolder();
  const db = join(folder, 'profiles.db');
  const file = join(folder, 'backup.sqlite');
  const scratch = join(folder, 'scratch');
  mkdirSync(scratch);
  const variables = { DATABASE_PATH: db, TMPDIR: scratch };
  const deps = testDeps({ variables: { DATABASE_PATH: db } });
  await importLines(deps, [{ id: 1, username: 'Ada', email: 'ada@example.org' }]);
  backupDatabase(deps.db, file);
  const tryOut = (backup: string, ...words: string[]) =>
    profilectl(['db', 'check', '--restore', backup, ...words], { variables });
  return { deps, folder, db, file, scratch, variables, tryOut, noted: () => readLastDone(db, 'restore-test') };
}

describe('db check --restore', () => {
  test('restores, checks and counts a good backup while a server is running, and records that for status', async () => {
    const { db, file, scratch, variables, tryOut, noted } = await world();
    const server = await startServerProcess(variables);
    const before = readFileSync(file);
    const schema = MIGRATIONS.length;
    const found = `No problems found in ${file} (schema ${schema}), which restores 1 profile and 0 keys.\n`;
    expect(await tryOut(file)).toEqual({ code: 0, stdout: found, stderr: '' });
    expect(noted()).toEqual({ at: expect.stringMatching(/Z$/), file });
    expect(statSync(`${db}.last-restore-test`).mode & 0o777).toBe(0o600);
    const json = JSON.parse((await tryOut(file, '--json')).stdout);
    expect(json).toEqual({ ok: true, faults: [], file, profiles: 1, keys: 0, schema });
    expect(readFileSync(file).equals(before)).toBe(true);
    expect(readdirSync(scratch)).toEqual([]);
    expect(await server.end()).toBe(0);
  });

  test('upgrades a backup of an older schema, only in the temporary folder', async () => {
    const { file, scratch, variables, noted } = await world();
    const before = readFileSync(file);
    const tried = await profilectl(['db', 'check', '--restore', file], { variables, program: nextVersion().words });
    expect(tried).toMatchObject({
      code: 0,
      stdout: expect.stringContaining(`(schema ${MIGRATIONS.length}), which restores 1 profile `),
    });
    expect(noted()?.file).toBe(file);
    expect(readFileSync(file).equals(before)).toBe(true);
    expect(readdirSync(scratch)).toEqual([]);
  });

  // restore.test.ts tries all files that are no backups.
  test('refuses a backup that is none, or that has problems, with the reason, and records nothing', async () => {
    const { folder, file, scratch, tryOut, noted } = await world();
    const text = join(folder, 'text');
    writeFileSync(text, 'no database at all, whatever its name says');
    const sentence = expect.stringContaining('text is not a Profile Lookup database');
    expect(await tryOut(text)).toEqual({ code: 1, stdout: '', stderr: sentence });
    const faulty = join(folder, 'faulty');
    copyFileSync(file, faulty);
    const sqlite = openBare(faulty, 'write');
    sqlite.run("UPDATE profiles SET username = 'eve'");
    sqlite.close();
    expect(await tryOut(faulty)).toEqual({
      code: 1,
      stdout: 'profile 1: the first of its names is not its username\n',
      stderr: '1 problem found.\n',
    });
    expect(noted()).toBeNull();
    expect(readdirSync(scratch)).toEqual([]);
  });

  test('without space in the temporary folder fails with one sentence that names it, and leaves no files', async () => {
    const { deps, file, scratch, variables, noted } = await world();
    const customize = { x: 'y'.repeat(900) };
    await importLines(
      deps,
      Array.from({ length: 500 }, (_, id) => ({ id: id + 9, username: `u${id}`, customize })),
    );
    backupDatabase(deps.db, `${file}.big`);
    // A limit on the size of files simulates a full disk.
    const words = profilectlWords(['db', 'check', '--restore', `${file}.big`]);
    const child = Bun.spawn(['bash', '-c', 'trap "" XFSZ; ulimit -f 200; exec "$@"', 'bash', ...words], {
      env: commandEnvironment(variables),
      stdout: 'pipe',
      stderr: 'pipe',
    });
    expect([await child.exited, await new Response(child.stdout).text()]).toEqual([1, '']);
    expect(await new Response(child.stderr).text()).toContain(scratch);
    expect(noted()).toBeNull();
    expect(readdirSync(scratch)).toEqual([]);
  });

  test('with a missing temporary folder fails with one sentence that names it', async () => {
    const { file, variables } = await world();
    const TMPDIR = join(variables.TMPDIR, 'none');
    const done = await profilectl(['db', 'check', '--restore', file], { variables: { ...variables, TMPDIR } });
    expect([done.code, done.stderr]).toEqual([1, expect.stringContaining(TMPDIR)]);
    expect(done.stderr.trim().split('\n')).toHaveLength(1);
  });

  test('works without a database, and records nothing', async () => {
    const { folder, file } = await world();
    const elsewhere = join(folder, 'elsewhere/profiles.db');
    expect(await profilectl(['db', 'check', '--restore', file, '--db', elsewhere])).toMatchObject({
      code: 0,
      stderr: '',
    });
    expect(existsSync(join(folder, 'elsewhere'))).toBe(false);
  });
});
