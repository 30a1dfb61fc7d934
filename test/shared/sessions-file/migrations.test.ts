import { expect, test } from 'bun:test';
import { cpSync, readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { openBare } from '../../../shared/db/connect.ts';
import { SESSIONS_MIGRATIONS } from '../../../shared/sessions-file/migrations.ts';
import { closeSessionsFile, fileKey, openSessionsFile } from '../../../shared/sessions-file/sessions-file.ts';
import { PROJECT } from '../../support/cli.ts';
import { startLineChild } from '../../support/line-child.ts';
import { nextVersion } from '../../support/machine/upgrade.ts';
import { rounds } from '../../support/rounds.ts';
import { tempFolder, testDeps } from '../../support/world.ts';

/** The files of the made-up next version, which has another migration. */
const NEXT = nextVersion();

/** How many processes open a file at the same time. */
const PROCESSES = 1 + rounds(3);

test('processes that open a file of the previous version at the same time all find it upgraded, with its contents', async () => {
  const { config } = testDeps();
  const file = openSessionsFile(config.databasePath);
  file.sqlite.run('INSERT INTO mail_counts (counted_under, at) VALUES (zeroblob(32), 1)');
  const key = fileKey(file);
  closeSessionsFile(file);
  const child = join(import.meta.dir, 'open-child.ts');
  const children = await Promise.all(
    Array.from({ length: PROCESSES }, () => startLineChild(child, config.databasePath, NEXT.folder)),
  );
  for (const { send } of children) send('open');
  expect(await Promise.all(children.map(({ next }) => next()))).toEqual(Array(PROCESSES).fill('1 mail, 2 migrations'));
  const upgraded = openBare(file.path, 'read');
  expect(upgraded.query("SELECT value FROM settings WHERE name = 'key'").get()).toEqual({ value: new Uint8Array(key) });
  upgraded.close();
});

test('a file of a newer version, or with a different migration, is left unchanged', () => {
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
    expect(() => openSessionsFile(config.databasePath)).toThrow('it belongs to another program or a newer version');
    expect(readFileSync(file.path).equals(before)).toBe(true);
  }
});

test('the migrations in the program are the files of drizzle/sessions, in order, and every table is STRICT', () => {
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

test('the migrations match the schema: drizzle-kit finds no difference', () => {
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
