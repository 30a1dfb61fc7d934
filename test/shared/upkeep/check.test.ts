import { describe, expect, test } from 'bun:test';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { KEY_STATES } from '../../../shared/db/key-columns.ts';
import { withTables } from '../../../shared/db/tables.ts';
import { openDatabase } from '../../../shared/db-files/open.ts';
import { checkDatabase } from '../../../shared/upkeep/check.ts';
import { onBox } from '../../support/actors.ts';
import { eraseProfile } from '../../support/erase.ts';
import { importLines } from '../../support/import.ts';
import { issue, keyIn } from '../../support/keys.ts';
import { insertProfile } from '../../support/profiles.ts';
import { tempFolder, testClock, testDeps } from '../../support/world.ts';

/** A database with all kinds of rows, and its one Active key. */
async function world() {
  const deps = testDeps({ clock: testClock() });
  await importLines(deps, [
    {
      id: 1,
      username: 'Ada',
      aliases: ['lovelace'],
      email: 'ada@example.org',
      badges: [{ name: 'early', enabled: true }],
    },
    { id: 2, username: 'bob', links: [{ id: 'l', name: 'n', link: 'https://example.org' }] },
  ]);
  const { identifier } = await issue(deps, { profile: 'Ada' });
  const sqlite = deps.db.$client;
  /** Makes changes that the constraints of the schema forbid. */
  const force = (...statements: string[]) => {
    sqlite.run('PRAGMA ignore_check_constraints = ON');
    sqlite.run('PRAGMA foreign_keys = OFF');
    for (const statement of statements) sqlite.run(statement);
    sqlite.run('PRAGMA ignore_check_constraints = OFF');
    sqlite.run('PRAGMA foreign_keys = ON');
  };
  return { deps, sqlite, identifier, force, faults: () => checkDatabase(deps.db).faults };
}

test('a database in normal use, with keys in every state and an erased profile, has no faults', async () => {
  const { deps, faults } = await world();
  for (const [index, state] of KEY_STATES.entries()) {
    insertProfile(deps.db, { id: 10 + index });
    await keyIn(state, { ...deps, clock: testClock() }, `user${10 + index}`);
  }
  eraseProfile(deps, 'Ada', onBox('operator'));
  expect(faults()).toEqual([]);
});

describe('each fault is reported without private data', () => {
  const cases: [string, string[], RegExp][] = [
    ['a violated check', ['UPDATE profiles SET banned = 7 WHERE id = 2'], /CHECK constraint failed in profiles/],
    [
      'a dangling reference',
      ['UPDATE links SET profile_id = 99'],
      /a row of links refers to a missing row of profiles/,
    ],
    ['a missing trigger', ['DROP TRIGGER api_keys_never_deleted'], /^the trigger api_keys_never_deleted is missing$/],
    ['an unknown table', ['CREATE TABLE notes (x)'], /^the table notes does not belong to Profile Lookup$/],
    [
      'a changed index',
      ['DROP INDEX api_keys_profile', 'CREATE INDEX api_keys_profile ON api_keys (name)'],
      /differs from its migration/,
    ],
    [
      'a username that is not the first name',
      ["UPDATE profiles SET username = 'eve' WHERE id = 2"],
      /^profile 2: the first of its names is not its username$/,
    ],
    [
      'a profile without a name',
      ['DELETE FROM profile_names WHERE profile_id = 2'],
      /^profile 2: the first of its names/,
    ],
    [
      'positions of names with a gap',
      ['UPDATE profile_names SET position = 5 WHERE position = 1'],
      /^profile 1: its names are not/,
    ],
    [
      'a name folded differently',
      ["UPDATE profile_names SET folded = 'Bob' WHERE profile_id = 2"],
      /^profile 2: one of its names is stored under a wrong folded form$/,
    ],
    ['an invalid name', ["UPDATE profile_names SET name = 'a/b', folded = 'a/b' WHERE position = 1"], /a slash$/],
    ['an invalid badge', [`UPDATE profiles SET badges = '[{"name":1}]' WHERE id = 1`], /^profile 1: .*badges\[0\]/],
  ];
  for (const [what, statements, sentence] of cases) {
    test(what, async () => {
      const { force, faults } = await world();
      force(...statements);
      const found = faults();
      expect(found.some((fault) => sentence.test(fault)) ? 'found' : found).toBe('found');
      expect(found.join()).not.toMatch(/ada@|lovelace/);
    });
  }
});

test('Litestream’s tables are not faults, but others with similar names are', async () => {
  const { sqlite, faults } = await world();
  sqlite.run('CREATE TABLE _litestream_seq (id INTEGER PRIMARY KEY, seq INTEGER)');
  sqlite.run('CREATE TABLE _litestream_lock (id INTEGER)');
  expect(faults()).toEqual([]);
  sqlite.run('CREATE TABLE _litestream_notes (id INTEGER)');
  sqlite.run('CREATE TRIGGER _litestream_seq2 AFTER INSERT ON _litestream_seq BEGIN SELECT 1; END');
  expect(faults()).toEqual([
    'the table _litestream_notes does not belong to Profile Lookup',
    'the trigger _litestream_seq2 does not belong to Profile Lookup',
  ]);
});

test('overwritten pages are reported as faults, without an exception', async () => {
  const path = join(tempFolder(), 'profiles.db');
  const deps = { ...testDeps(), db: withTables(openDatabase(path, 'serve')) };
  const many = Array.from({ length: 200 }, (_, index) => ({
    id: index + 1,
    username: `user${index}`,
    customize: { x: 'y'.repeat(500) },
  }));
  await importLines(deps, many);
  deps.db.$client.run('PRAGMA wal_checkpoint(TRUNCATE)');
  deps.db.$client.close();
  const bytes = readFileSync(path);
  bytes.fill(0xa5, bytes.length - 40_000, bytes.length - 20_000);
  writeFileSync(path, bytes);
  const db = withTables(openDatabase(path, 'look'));
  const { faults } = checkDatabase(db);
  db.$client.close();
  expect(faults.length).toBeGreaterThan(0);
});

test('the first 1000 faults are listed, and the others are counted', async () => {
  const { deps, force, faults } = await world();
  await importLines(
    deps,
    Array.from({ length: 1500 }, (_, index) => ({ id: index + 100, username: `user${index}` })),
  );
  force("UPDATE profiles SET username = 'x' WHERE id >= 100");
  const found = faults();
  expect(found).toHaveLength(1001);
  expect(found.at(-1)).toBe('and 500 more');
});
