import { expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { openBare } from '../../../shared/db/connect.ts';
import * as schema from '../../../shared/sessions-file/schema.ts';
import { closeSessionsFile, fileKey, openSessionsFile } from '../../../shared/sessions-file/sessions-file.ts';
import { startLineChild } from '../../support/line-child.ts';
import { nextVersion } from '../../support/machine/upgrade.ts';
import { rounds } from '../../support/rounds.ts';
import { tablesIn, tablesOf } from '../../support/storage/tables.ts';
import { testDeps } from '../../support/world.ts';

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

test('a file of a newer version is left unchanged', () => {
  const { config } = testDeps();
  const file = openSessionsFile(config.databasePath);
  file.sqlite.run('PRAGMA user_version = 2');
  file.sqlite.run('PRAGMA wal_checkpoint(TRUNCATE)');
  closeSessionsFile(file);
  const before = readFileSync(file.path);
  expect(() => openSessionsFile(config.databasePath)).toThrow('it belongs to another program or a newer version');
  expect(readFileSync(file.path).equals(before)).toBe(true);
});

test('the tables are those of the schema in the program', () => {
  const file = openSessionsFile(testDeps().config.databasePath);
  expect(tablesOf(file.sqlite)).toEqual(tablesIn(schema));
  closeSessionsFile(file);
});
