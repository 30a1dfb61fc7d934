import { expect, test } from 'bun:test';
import { existsSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { openAsItIs, openFile } from '../../../shared/db/connect.ts';
import { MIGRATIONS, migrate } from '../../../shared/db/migrate.ts';
import { copyBeforeMigration } from '../../../shared/files/copy.ts';
import { openDatabase } from '../../../shared/files/open.ts';
import { profilectl } from '../../support/cli.ts';
import { NEXT_MIGRATIONS, nextVersion, startServerProcess } from '../../support/machine.ts';
import { rounds } from '../../support/rounds.ts';
import { tempFolder } from '../../support/world.ts';

const OLD = MIGRATIONS.length;
const NEXT = nextVersion();

/** Makes a database as the current version does. `fill` are statements that add content. */
function makeDatabase(path: string, fill: readonly string[] = []): void {
  const sqlite = openFile(path, 1000);
  migrate(sqlite, path);
  for (const statement of fill) sqlite.run(statement);
  sqlite.close();
}

const { openDatabase: openByNext } = (await import(
  join(NEXT.folder, 'shared/files/open.ts')
)) as typeof import('../../../shared/files/open.ts');
const MARK = ['CREATE TABLE mark (text TEXT) STRICT', "INSERT INTO mark VALUES ('as it was')"];

function copies(folder: string): string[] {
  return readdirSync(folder).filter((name) => name.includes('.before-schema-'));
}

test('a new database is not copied', () => {
  const folder = tempFolder();
  openDatabase(join(folder, 'profiles.db'), 'serve').$client.close();
  expect(copies(folder)).toEqual([]);
});

test('if several servers open an older database at the same time, one copies and upgrades it, and all find it upgraded', async () => {
  const folder = tempFolder();
  const path = join(folder, 'profiles.db');
  makeDatabase(path, MARK);
  const script = join(folder, 'open.ts');
  writeFileSync(
    script,
    `import { openDatabase } from ${JSON.stringify(join(NEXT.folder, 'shared/files/open.ts'))};
     const db = openDatabase(${JSON.stringify(path)}, 'serve');
     console.log(db.$client.query('PRAGMA user_version').get().user_version);`,
  );
  const runs = Array.from({ length: rounds(3) }, () =>
    Bun.spawn([process.execPath, script], { stdout: 'pipe', stderr: 'pipe' }),
  );
  for (const run of runs) {
    expect(await new Response(run.stderr).text()).toBe('');
    expect((await new Response(run.stdout).text()).trim()).toBe(String(NEXT_MIGRATIONS.length));
  }
  expect(copies(folder)).toHaveLength(1);
}, 30_000);

test('only serve upgrades an older database', async () => {
  const path = join(tempFolder(), 'profiles.db');
  makeDatabase(path);
  for (const mode of ['use', 'fill'] as const) expect(() => openByNext(path, mode)).toThrow('older schema');
  openByNext(path, 'serve').$client.close();
  openByNext(path, 'use').$client.close();
});

test('while a server of the previous version runs, its database is not upgraded, and it keeps running', async () => {
  const DATABASE_PATH = join(tempFolder(), 'profiles.db');
  const server = await startServerProcess({ DATABASE_PATH });
  const refused = await profilectl(['serve', '--db', DATABASE_PATH], { program: NEXT.words });
  expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining('A server is running on') });
  expect((await fetch(`${server.url}/readyz`)).status).toBe(200);
  expect(await server.end()).toBe(0);
  expect(copies(join(DATABASE_PATH, '..'))).toEqual([]);
});

test('no database is made in the place of one that was removed under a running server', async () => {
  const DATABASE_PATH = join(tempFolder(), 'profiles.db');
  const server = await startServerProcess({ DATABASE_PATH });
  rmSync(DATABASE_PATH);
  const words = ['profiles', 'import', '-', '--db', DATABASE_PATH];
  const refused = await profilectl(words, { stdin: '{"id":1,"username":"ada"}\n' });
  expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining('A server is running on') });
  expect(existsSync(DATABASE_PATH)).toBe(false);
  await server.end();
});

test('when the table of keys is rebuilt, its order and constraints are kept', () => {
  const path = join(tempFolder(), 'profiles.db');
  const insert = (identifier: string) =>
    `INSERT INTO api_keys (identifier, profile_id, name, description, state, requested_permissions, requested_at)
       VALUES ('${identifier}', 1, 'a', '${'x'.repeat(80)}', 'pending', '[]', 0)`;
  makeDatabase(path, [
    `INSERT INTO profiles (id, revision, written_at, followers_count, show_followers_count, show_on_leaderboard, links, profile)
       VALUES (1, 1, 0, 0, 1, 1, '{"links":[]}', '{"id":1,"username":"a","banned":false,"viewsCount":0}')`,
    ...['zzzzzzzz', 'aaaaaaaa', 'mmmmmmmm'].map(insert),
    "UPDATE api_keys SET state = 'withdrawn', decided_at = 1",
  ]);
  const sqlite = openFile(path, 1000);
  migrate(sqlite, path, NEXT_MIGRATIONS);
  const rows = sqlite.query('SELECT identifier FROM api_keys ORDER BY requested_at, rowid').values().flat();
  expect(rows).toEqual(['zzzzzzzz', 'aaaaaaaa', 'mmmmmmmm']);
  for (const [statement, fault] of [
    ['DELETE FROM api_keys', 'never deleted'],
    ["UPDATE api_keys SET state = 'stopped'", 'CHECK'],
    ['UPDATE api_keys SET secret_hash = zeroblob(32)', 'CHECK'],
  ] as const) {
    expect(() => sqlite.run(statement)).toThrow(fault);
  }
  sqlite.close();
});

test('a database that can’t be copied is not upgraded', () => {
  const path = join(tempFolder(), 'profiles.db');
  makeDatabase(path);
  const sqlite = openFile(path, 1000);
  const noRoom = () => {
    throw new Error('no room');
  };
  expect(() => migrate(sqlite, path, NEXT_MIGRATIONS, noRoom)).toThrow('no room');
  expect(sqlite.query('PRAGMA user_version').get()).toEqual({ user_version: OLD });
  sqlite.close();
});

test('the copy contains the committed data, and the upgrade holds the write lock while it is made', () => {
  const path = join(tempFolder(), 'profiles.db');
  makeDatabase(path, MARK);
  const sqlite = openFile(path, 1000);
  sqlite.run('BEGIN IMMEDIATE');
  sqlite.run("INSERT INTO mark VALUES ('not yet')");
  const copy = openAsItIs(copyBeforeMigration(path, OLD), 'read');
  expect(copy.query('SELECT text FROM mark').all()).toEqual([{ text: 'as it was' }]);
  copy.close();
  sqlite.close();
});

test('commands refuse an older database, but it can be backed up and checked', async () => {
  const folder = tempFolder();
  const db = join(folder, 'profiles.db');
  makeDatabase(db);
  const run = (...words: string[]) => profilectl([...words, '--db', db], { program: NEXT.words });
  for (const words of [['keys', 'list'], ['status'], ['db', 'vacuum']]) {
    const sentence = expect.stringContaining(`The database ${db} has an older schema`);
    expect([words, await run(...words)]).toMatchObject([words, { code: 1, stderr: sentence }]);
  }
  expect((await run('db', 'backup', join(folder, 'copy.db'))).code).toBe(0);
  expect(existsSync(join(folder, 'copy.db'))).toBe(true);
  expect((await run('db', 'check')).code).toBe(0);
});
