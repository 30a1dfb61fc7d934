import { expect, test } from 'bun:test';
import { cpSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { openBare, type Sqlite } from '../../../shared/db/connect.ts';
import { SESSIONS_MIGRATIONS } from '../../../shared/sessions-file/migrations.ts';
import { closeSessionsFile, openSessionsFile, sessionsPath } from '../../../shared/sessions-file/sessions-file.ts';
import { PROJECT } from '../../support/cli.ts';
import { startLineChild } from '../../support/line-child.ts';
import { tempFolder, testDeps } from '../../support/world.ts';

const KEPT = ['known_browsers', 'mail_counts', 'settings', 'token_uses', 'untold_sign_ins'];

/** A file as the version before migrations made it, with a row in every table. */
function formerFile(path: string): Sqlite {
  const former = openBare(':memory:', 'write');
  former.run(readFileSync(join(PROJECT, 'test/fixtures/sessions-pls2.sql'), 'utf8'));
  const bytes = former.serialize();
  // The versions that wrote such files left them in WAL mode, which these two bytes of the header say.
  bytes.fill(2, 18, 20);
  writeFileSync(path, bytes);
  return former;
}

function tablesOf(sqlite: Sqlite): string[] {
  const ours = "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name";
  return sqlite
    .query<{ name: string }, []>(ours)
    .all()
    .map(({ name }) => name);
}

const rowsOf = (sqlite: Sqlite, tables: readonly string[]) =>
  tables.map((table) => [table, sqlite.query(`SELECT * FROM ${table}`).all()]);

test('a file of the version before keeps its key, limits, known browsers and what owners are to be told, and nobody’s sign-in', () => {
  const { config } = testDeps();
  const former = formerFile(sessionsPath(config.databasePath));
  expect(tablesOf(former)).toHaveLength(13);
  for (const [table, rows] of rowsOf(former, tablesOf(former))) expect([table, rows?.length]).toEqual([table, 1]);
  const file = openSessionsFile(config.databasePath);
  expect(tablesOf(file.sqlite)).toEqual([...KEPT, 'migrations', 'sign_ins', 'tickets'].sort());
  expect(rowsOf(file.sqlite, KEPT)).toEqual(rowsOf(former, KEPT));
  expect(rowsOf(file.sqlite, ['sign_ins', 'tickets'])).toEqual([
    ['sign_ins', []],
    ['tickets', []],
  ]);
  file.sqlite.run('PRAGMA wal_checkpoint(TRUNCATE)');
  expect(readFileSync(file.path, 'latin1')).not.toContain('192.0.2.99');
  closeSessionsFile(file);
  // Opened again, nothing more is written.
  const before = readFileSync(file.path);
  closeSessionsFile(openSessionsFile(config.databasePath));
  expect(readFileSync(file.path).equals(before)).toBe(true);
});

test('a file that was upgraded has the schema of a new one', () => {
  const [upgraded, fresh] = [testDeps(), testDeps()];
  formerFile(sessionsPath(upgraded.config.databasePath)).close();
  const schemas = [upgraded, fresh].map(({ config }) => {
    const file = openSessionsFile(config.databasePath);
    const columns = tablesOf(file.sqlite).map((table) => [
      table,
      file.sqlite.query('SELECT name, type, "notnull" OR pk AS required, pk FROM pragma_table_info(?)').all(table),
    ]);
    const parts = file.sqlite
      .query("SELECT type, name FROM sqlite_schema WHERE name NOT LIKE 'sqlite_%' ORDER BY name")
      .all();
    closeSessionsFile(file);
    return { columns, parts };
  });
  expect(schemas[0]).toEqual(schemas[1] as (typeof schemas)[0]);
});

test('processes that open a file of the version before at once all find it upgraded', async () => {
  const { config } = testDeps();
  formerFile(sessionsPath(config.databasePath)).close();
  const child = join(import.meta.dir, 'open-child.ts');
  const children = await Promise.all(Array.from({ length: 4 }, () => startLineChild(child, config.databasePath)));
  for (const { send } of children) send('open');
  expect(await Promise.all(children.map(({ next }) => next()))).toEqual(Array(4).fill('1'));
});

test('a file of a newer version, or with another migration, is left as it is', () => {
  for (const change of [
    "INSERT INTO migrations (name, sha256, applied_at) VALUES ('9999_more', 'x', 0)",
    "UPDATE migrations SET sha256 = 'x' WHERE number = 1",
  ]) {
    const { config } = testDeps();
    const file = openSessionsFile(config.databasePath);
    file.sqlite.run(change);
    file.sqlite.run('PRAGMA wal_checkpoint(TRUNCATE)');
    closeSessionsFile(file);
    const before = readFileSync(file.path);
    expect(() => openSessionsFile(config.databasePath)).toThrow("another program's file, or a newer version's");
    expect(readFileSync(file.path).equals(before)).toBe(true);
  }
});

test('the migrations that the program carries are the files of drizzle/sessions, in order, and every table is STRICT', () => {
  const folder = join(PROJECT, 'drizzle/sessions');
  const files = readdirSync(folder).filter((name) => name.endsWith('.sql'));
  expect(SESSIONS_MIGRATIONS.map(({ name }) => `${name}.sql`)).toEqual(files.sort());
  for (const { name, sql } of SESSIONS_MIGRATIONS) {
    expect(sql).toBe(readFileSync(join(folder, `${name}.sql`), 'utf8'));
  }
  const file = openSessionsFile(testDeps().config.databasePath);
  const tables = file.sqlite
    .query<{ name: string; strict: number }, []>("SELECT name, strict FROM pragma_table_list WHERE type = 'table'")
    .all();
  expect(tables.filter(({ name, strict }) => strict === 0 && !name.startsWith('sqlite_'))).toEqual([]);
  closeSessionsFile(file);
});

test('the migrations say what the schema says: drizzle-kit finds nothing to add', () => {
  const folder = tempFolder();
  const out = join(folder, 'drift');
  cpSync(join(PROJECT, 'drizzle/sessions'), out, { recursive: true });
  const words = ['x', 'drizzle-kit', 'generate', '--dialect=sqlite', '--schema=shared/sessions-file/schema.ts'];
  const run = Bun.spawnSync([process.execPath, ...words, `--out=${relative(PROJECT, out)}`], {
    cwd: PROJECT,
    env: { PATH: process.env.PATH ?? '', HOME: folder },
  });
  expect(run.exitCode).toBe(0);
  expect(readdirSync(out).sort()).toEqual(readdirSync(join(PROJECT, 'drizzle/sessions')).sort());
});
