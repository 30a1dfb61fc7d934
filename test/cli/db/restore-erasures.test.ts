import { describe, expect, test } from 'bun:test';
import { cpSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { openBare } from '../../../shared/db/connect.ts';
import { migrate } from '../../../shared/db/migrate.ts';
import { withTables } from '../../../shared/db/tables.ts';
import { openDatabase } from '../../../shared/db-files/open.ts';
import { checkDatabase } from '../../../shared/upkeep/check.ts';
import { profilectl } from '../../support/cli.ts';
import { jsonLines } from '../../support/import.ts';
import { DESCRIPTION } from '../../support/keys.ts';
import { runCommand } from '../../support/machine/command.ts';
import { KEY, openTerminal } from '../../support/machine/terminal.ts';
import { NEXT_MIGRATIONS, nextVersion } from '../../support/machine/upgrade.ts';
import { usernamesIn } from '../../support/profiles.ts';
import { tempFolder } from '../../support/world.ts';

// Restoring a backup with profiles that were erased since.

type Output = { erasedAgain: { uid: number; at: string }[] | null };

/** Commands on the database in a folder. */
function commandsIn(folder: string) {
  const variables = { DATABASE_PATH: join(folder, 'profiles.db') };
  return { variables, run: (...words: string[]) => profilectl(words, { variables }) };
}

/** A folder with a backup with Ada (who has a key), Bob, Cem and Dan; Ada and Cem were erased after it, and Dan once before it. */
async function prepare() {
  const folder = tempFolder();
  const file = join(folder, 'backup.sqlite');
  const { variables } = commandsIn(tempFolder());
  const run = (...words: string[]) => runCommand(words, { variables });
  const put = (...lines: object[]) =>
    runCommand(['profiles', 'import', '-'], { variables, stdin: jsonLines(...lines) });
  const people = ['ada', 'bob', 'cem', 'dan'].map((username, at) => ({
    id: at + 1,
    username,
    email: `${username}@example.org`,
  }));
  await put(...people);
  // The backup also records the erasure of Dan, who was created again before it.
  await put({ id: 4, deleted: true });
  await put(people[3] as object, { id: 9, username: 'gone' }, { id: 9, deleted: true });
  expect((await run('db', 'vacuum')).code).toBe(0);
  const words = ['--profile', 'ada', '--name', 'Bot', '--permission', 'api.lookup', '--description', DESCRIPTION];
  const [identifier = ''] = (await run('keys', 'request', ...words)).stdout.split(' ');
  expect((await run('db', 'backup', file)).code).toBe(0);
  expect((await run('profiles', 'erase', 'cem', '--yes')).code).toBe(0);
  await put({ id: 1, deleted: true }, { id: 10, username: 'late' }, { id: 10, deleted: true });
  // A copy, which no statement of this process keeps open.
  expect((await run('db', 'backup', commandsIn(folder).variables.DATABASE_PATH)).code).toBe(0);
  return { folder, identifier };
}

const prepared = await prepare();

/** A copy of the prepared folder, which a test may change. */
function world() {
  const folder = tempFolder();
  cpSync(prepared.folder, folder, { recursive: true });
  const db = join(folder, 'profiles.db');
  const file = join(folder, 'backup.sqlite');
  const { variables, run } = commandsIn(folder);
  const names = () => usernamesIn(db);
  /** The stored times of the erasures, by UID. */
  const erased = () => {
    const opened = openDatabase(db, 'use');
    const rows = opened.$client.query('SELECT id, at FROM erased_profiles').all() as { id: number; at: number }[];
    opened.$client.close();
    return new Map(rows.map(({ id, at }) => [id, new Date(at).toISOString()]));
  };
  const restored = async () => {
    const done = await run('db', 'restore', file, '--yes', '--json');
    expect(done.code).toBe(0);
    return { ...(JSON.parse(done.stdout) as Output), stderr: done.stderr };
  };
  return { db, file, variables, identifier: prepared.identifier, run, names, erased, restored };
}

describe('the erasures since a backup', () => {
  test('are listed and repeated by a restore, keeping their times, and a VACUUM is due', async () => {
    const { db, identifier, run, names, erased, restored } = world();
    const times = erased();
    const { erasedAgain, stderr } = await restored();
    expect(erasedAgain).toEqual([3, 1].map((uid) => ({ uid, at: times.get(uid) as string })));
    expect(stderr).toContain(
      `were erased since, and stay erased:\n  UID 3, erased at ${times.get(3)}\n  UID 1, erased at ${times.get(1)}\n`,
    );
    expect(names()).toEqual(['bob', 'dan']);
    for (const uid of [1, 3]) expect(erased().get(uid)).toBe(times.get(uid) as string);
    const key = JSON.parse((await run('keys', 'show', identifier, '--json')).stdout);
    expect(key).toMatchObject({ state: 'withdrawn', name: '', description: '', profile: null });
    const { erasure } = JSON.parse((await run('status', '--json')).stdout);
    expect(Date.parse(erasure.tracesSince)).toBeGreaterThan(Date.parse(times.get(1) as string));
    const opened = withTables(openDatabase(db, 'use'));
    expect(checkDatabase(opened).faults).toEqual([]);
    opened.$client.close();
  }, 30_000);

  test('are listed before the question, which is asked again if another profile is erased before the answer', async () => {
    const { db, file, run, names } = world();
    const terminal = openTerminal(['db', 'restore', file, '--db', db]);
    await terminal.see('These profiles of the backup were erased since, and stay erased:');
    await terminal.see('Replace ');
    expect((await run('profiles', 'erase', 'bob', '--yes')).code).toBe(0);
    terminal.type(`y${KEY.enter}`);
    await terminal.see('The database has changed since it was shown: other profiles were erased. Nothing was done.');
    await terminal.see('UID 2, erased at');
    await terminal.see('Replace ');
    expect(names()).toEqual(['dan']);
    terminal.type(`y${KEY.enter}`);
    await terminal.see('Restored 4 profiles');
    expect(await terminal.exited).toBe(0);
    expect(names()).toEqual(['dan']);
  }, 30_000);

  test('are an empty list if there are none', async () => {
    const { restored, run, file } = world();
    await restored();
    await run('db', 'backup', `${file}2`);
    const done = await run('db', 'restore', `${file}2`, '--yes', '--json');
    expect(JSON.parse(done.stdout)).toMatchObject({ erasedAgain: [] });
  }, 30_000);

  test.each([
    ['missing', null],
    ['damaged', 'the disk has eaten it '.repeat(1_000)],
  ])(
    'are unknown if the database is %s, which is said, and nothing is erased',
    async (_what, content) => {
      const { db, file, run } = world();
      const elsewhere = `${db}-elsewhere`;
      if (content !== null) writeFileSync(elsewhere, content);
      const done = await run('db', 'restore', file, '--yes', '--json', '--db', elsewhere);
      expect(JSON.parse(done.stdout)).toMatchObject({ profiles: 4, erasedAgain: null });
      expect(done.stderr).toContain(
        'There is no readable database: nothing that was ended since the backup stays ended.',
      );
      expect(usernamesIn(elsewhere)).toEqual(['ada', 'bob', 'cem', 'dan']);
    },
    30_000,
  );

  test('are repeated in a backup of an older schema, which is upgraded for that', async () => {
    const { db, file, variables } = world();
    const { words } = nextVersion();
    const upgraded = openBare(db, 'write');
    migrate(upgraded, db, NEXT_MIGRATIONS);
    upgraded.close();
    const restoring = ['db', 'restore', file, '--yes', '--json'];
    const done = await profilectl(restoring, { variables, program: words });
    expect(JSON.parse(done.stdout)).toMatchObject({ erasedAgain: [{ uid: 3 }, { uid: 1 }] });
    const restored = openBare(db, 'read');
    expect(restored.query('SELECT username FROM profiles ORDER BY id').values()).toEqual([['bob'], ['dan']]);
    restored.close();
  }, 30_000);

  test('are also found if the backup records an erasure in the future, even beyond the range of dates', async () => {
    const { file, names, restored } = world();
    change(file, 'INSERT INTO erased_profiles (id, at) VALUES (1, 9000000000000000)');
    expect((await restored()).erasedAgain?.map(({ uid }) => uid)).toEqual([3, 1]);
    expect(names()).toEqual(['bob', 'dan']);
  }, 30_000);
});

/** Changes a backup, as anyone who can write to it could. */
function change(file: string, sql: string): void {
  const sqlite = openBare(file, 'write');
  sqlite.run(sql);
  sqlite.close();
}
