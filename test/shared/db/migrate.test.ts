import { Database } from 'bun:sqlite';
import { describe, expect, test } from 'bun:test';
import { readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { is } from 'drizzle-orm';
import { getTableConfig, SQLiteTable } from 'drizzle-orm/sqlite-core';
import { looseMode, looseModes } from '../../../shared/config/files.ts';
import { openFile } from '../../../shared/db/connect.ts';
import { MIGRATIONS, migrate, schemaState } from '../../../shared/db/migrate.ts';
import * as schema from '../../../shared/db/schema.ts';
import { write } from '../../../shared/db/write.ts';
import { isServed, openDatabase, takeServerLock } from '../../../shared/files/open.ts';
import { PROJECT } from '../../support/cli.ts';
import { NEXT_MIGRATIONS } from '../../support/machine.ts';
import { tempFolder } from '../../support/world.ts';

const folder = tempFolder();
const path = (name: string) => join(folder, name, 'profiles.db');

/** The columns of the tables that are declared with Drizzle, each as a line. */
function declaredColumns(): string[] {
  const tables = Object.values(schema).filter((value) => is(value, SQLiteTable));
  return tables.flatMap((table) => {
    const { name, columns } = getTableConfig(table);
    return columns.map((column) => {
      const isNotNull = column.notNull || column.primary;
      const hasDefault = column.hasDefault && column.default !== undefined;
      const type = column.getSQLType().toUpperCase();
      return `${name}.${column.name} ${type}${isNotNull ? ' NOT NULL' : ''}${hasDefault ? ' DEFAULT' : ''}`;
    });
  });
}

test('the tables are STRICT, and their columns are those that the program declares', () => {
  const db = openDatabase(path('schema'), 'serve');
  const isTable = "list.type = 'table' AND list.name NOT LIKE 'sqlite_%'";
  const columns = db.$client.query(
    `SELECT list.name || '.' || c.name || ' ' || upper(c.type) || iif(c."notnull" OR c.pk, ' NOT NULL', '')
        || iif(c.dflt_value IS NULL, '', ' DEFAULT')
      FROM pragma_table_list AS list, pragma_table_xinfo(list.name) AS c WHERE ${isTable}`,
  );
  const made = columns.values().map(([line]) => `${line}`);
  expect(made.sort()).toEqual(declaredColumns().sort());
  expect(db.$client.query(`SELECT name FROM pragma_table_list AS list WHERE ${isTable} AND NOT strict`).all()).toEqual(
    [],
  );
  db.$client.close();
});

test('processes that open new databases at the same time all find them migrated', async () => {
  const script = join(folder, 'open.ts');
  writeFileSync(
    script,
    `import { openDatabase } from ${JSON.stringify(join(PROJECT, 'shared/files/open.ts'))};
     console.log('ready');
     const startMs = Number(await new Response(Bun.stdin).text());
     for (let number = 0; number < 20; number++) {
       Bun.sleepSync(Math.max(0, startMs + 50 * number - Date.now()));
       const { $client } = openDatabase(${JSON.stringify(folder)} + '/crowd' + number + '/profiles.db', 'fill');
       console.log($client.query('PRAGMA user_version').get().user_version);
     }`,
  );
  const runs = Array.from({ length: 4 }, () =>
    Bun.spawn([process.execPath, script], { stdin: 'pipe', stdout: 'pipe', stderr: 'pipe' }),
  );
  const outputs = runs.map(({ stdout }) => stdout.getReader());
  for (const output of outputs) await output.read();
  const startMs = Date.now() + 50;
  const printed = runs.map(async ({ stdin, stderr, exited }, at) => {
    stdin.write(`${startMs}`);
    void stdin.end();
    let text = '';
    for (let part = await outputs[at]?.read(); part?.value; part = await outputs[at]?.read()) {
      text += Buffer.from(part.value).toString();
    }
    return { text, errors: await new Response(stderr).text(), code: await exited };
  });
  const text = `${MIGRATIONS.length}\n`.repeat(20);
  for (const one of await Promise.all(printed)) expect(one).toEqual({ text, errors: '', code: 0 });
}, 20_000);

describe('opening', () => {
  test('a missing database is refused by commands that only use it, with its path', () => {
    expect(() => openDatabase(path('missing'), 'use')).toThrow(path('missing'));
    expect(statSync(join(folder, 'missing'), { throwIfNoEntry: false })).toBeUndefined();
  });

  test('a newer database is refused with a sentence that says so', () => {
    const sqlite = openFile(path('newer'), 1000);
    migrate(sqlite, path('newer'), NEXT_MIGRATIONS);
    sqlite.close();
    for (const mode of ['use', 'fill', 'serve'] as const) {
      expect(() => openDatabase(path('newer'), mode)).toThrow('newer version');
    }
  });

  test('another program’s database, or a file that is not a database, is left alone', () => {
    const foreign = new Database(join(folder, 'foreign.db'));
    foreign.run('CREATE TABLE theirs (id INTEGER)');
    foreign.close();
    const listless = new Database(join(folder, 'listless.db'));
    listless.run('PRAGMA application_id = 0x504c4b31');
    listless.run('CREATE TABLE profiles (id INTEGER)');
    listless.close();
    writeFileSync(join(folder, 'text.db'), 'This is not a database. '.repeat(100));
    for (const name of ['foreign.db', 'listless.db', 'text.db']) {
      const before = readFileSync(join(folder, name));
      expect(() => openDatabase(join(folder, name), 'serve')).toThrow('not a Profile Lookup database');
      expect(readFileSync(join(folder, name)).equals(before)).toBe(true);
    }
  });
});

test('a migration that fails leaves the database as it was', () => {
  const sqlite = openFile(path('failing'), 1000);
  migrate(sqlite, path('failing'));
  const broken = [...MIGRATIONS, 'CREATE TABLE half (id INTEGER); NONSENSE'];
  expect(() => migrate(sqlite, path('failing'), broken)).toThrow();
  expect(schemaState(sqlite, path('failing'))).toBe('current');
  expect(sqlite.query("SELECT count(*) AS n FROM sqlite_schema WHERE name = 'half'").get()).toEqual({ n: 0 });
  expect(sqlite.query('PRAGMA foreign_keys').get()).toEqual({ foreign_keys: 1 });
  sqlite.close();
});

test('only the owner can read new files, whatever the umask, and files with looser modes are reported', () => {
  const umask = process.umask(0);
  try {
    const db = openDatabase(path('modes'), 'serve');
    expect(statSync(join(folder, 'modes')).mode & 0o777).toBe(0o700);
    for (const file of [path('modes'), `${path('modes')}-wal`]) expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(looseModes(path('modes'))).toEqual([]);
    // Nobody is told to close the folder to others.
    expect(looseModes('/tmp/none.db')).toEqual([expect.stringMatching(/^\/tmp is open .* in a folder of its own/)]);
    expect(looseMode('/dev/null')).toBeNull();
    db.$client.close();
  } finally {
    process.umask(umask);
  }
});

test('a second server for the same database is refused, but a look at whether one is running does not hinder it', () => {
  openDatabase(path('lock'), 'serve').$client.close();
  expect(isServed(path('lock'))).toBe(false);
  const lock = takeServerLock(path('lock'));
  expect(() => takeServerLock(path('lock'))).toThrow('is running on');
  symlinkSync(path('lock'), join(folder, 'link.db'));
  lock.close();
  const again = takeServerLock(path('lock'));
  expect(() => takeServerLock(join(folder, 'link.db'))).toThrow('is running on');
  expect([1, 2].map(() => isServed(join(folder, 'link.db')))).toEqual([true, true]);
  again.close();
  expect(isServed(join(folder, 'link.db'))).toBe(false);
  takeServerLock(path('lock')).close();
});

test('a write that awaits inside its transaction is refused and rolled back, and a locked database throws "busy"', () => {
  const db = openDatabase(path('write'), 'serve');
  expect(() => write(db, async () => 1)).toThrow('may not wait');
  const other = openFile(path('write'), 0);
  other.run('BEGIN IMMEDIATE');
  expect(() => write(db, () => 1)).toThrow('locked by another process');
  other.close();
  expect(write(db, () => 1)).toBe(1);
  db.$client.close();
});
