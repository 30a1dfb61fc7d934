import { describe, expect, test } from 'bun:test';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { readSchema } from '../../../shared/db/catalog.ts';
import { openBare, type Sqlite } from '../../../shared/db/connect.ts';
import { LAST_UNRELEASED_COMMIT, MIGRATIONS } from '../../../shared/db/migrations.ts';
import { withTables } from '../../../shared/db/tables.ts';
import { openDatabase } from '../../../shared/db-files/open.ts';
import { SESSIONS_MIGRATIONS } from '../../../shared/sessions-file/migrations.ts';
import { closeSessionsFile, fileKey, openSessionsFile } from '../../../shared/sessions-file/sessions-file.ts';
import { backupDatabase } from '../../../shared/upkeep/backup.ts';
import { checkDatabase } from '../../../shared/upkeep/check.ts';
import { verifyBackup } from '../../../shared/upkeep/restore.ts';
import { PROJECT } from '../../support/cli.ts';
import { makeDatabase, NEXT_MIGRATIONS, nextVersion } from '../../support/machine/upgrade.ts';
import { tempFolder, testDeps } from '../../support/world.ts';

// Files of commits before version 0.1.0. The files of the last of these commits have the schema of 0.1.0, and the lists
// of migrations in test/fixtures/unreleased-*.txt, with lines `<name> <SHA-256>`.

const linesOf = (name: string) =>
  readFileSync(join(PROJECT, 'test/fixtures', name), 'utf8')
    .trimEnd()
    .split('\n');

const MAIN = linesOf('unreleased-main.txt');
const SESSIONS = linesOf('unreleased-sessions.txt');

/** The first migration of commits that had 20 of them. */
const EARLIEST = '0000_first 4334cc5fbc7379b4a85e9605f1e8917bdb1a645770f69f5bddcb70bf0ff468f1';

/** Gives a file such a list of migrations. */
function setList(sqlite: Sqlite, lines: readonly string[]): void {
  sqlite.run('DELETE FROM migrations');
  for (const line of lines) {
    sqlite.run('INSERT INTO migrations (name, sha256, applied_at) VALUES (?, ?, 1)', line.split(' '));
  }
}

const listOf = (sqlite: Sqlite) => sqlite.query('SELECT number, name, sha256 FROM migrations').all();

/** The list in a file of the first version. */
const firstOf = ([first]: typeof MIGRATIONS) => [
  { number: 1, name: '0000_first', sha256: new Bun.CryptoHasher('sha256').update(first?.sql ?? '').digest('hex') },
];

/** Everything in a database except its list of migrations. */
function contentOf(sqlite: Sqlite): unknown[] {
  const schema = readSchema(sqlite);
  const tables = schema.filter(({ type, name }) => type === 'table' && name !== 'migrations');
  return [schema, tables.map(({ name }) => [name, sqlite.query(`SELECT * FROM ${name}`).all()])];
}

/** A closed database with a profile and the list of an unreleased commit. */
function makeUnreleased(lines = MAIN) {
  const folder = tempFolder();
  const path = join(folder, 'profiles.db');
  makeDatabase(
    path,
    [
      `INSERT INTO profiles (id, username, display_name, badges, assets, customize, discord_clean, banned, views_count,
       followers_count, show_followers_count, created_at) VALUES (1, 'a', 'a', '[]', '{}', '{}', '{}', 0, 0, 0, 1, 0)`,
      "INSERT INTO profile_names VALUES ('a', 1, 0, 'a')",
    ],
    MIGRATIONS.slice(0, 1),
  );
  const sqlite = openBare(path, 'write');
  setList(sqlite, lines);
  const content = contentOf(sqlite);
  sqlite.close();
  return { folder, path, content };
}

describe('a database of the last unreleased commit', () => {
  test('is upgraded by serve: only its list of migrations changes, and nothing is copied', () => {
    const { folder, path, content } = makeUnreleased();
    for (const mode of ['use', 'fill', 'pages'] as const) {
      expect(() => openDatabase(path, mode)).toThrow('"profilectl serve" migrates it');
    }
    const { $client } = openDatabase(path, 'serve');
    expect(listOf($client)).toEqual(firstOf(MIGRATIONS));
    expect(contentOf($client)).toEqual(content);
    $client.close();
    openDatabase(path, 'use').$client.close();
    expect(readdirSync(folder).sort()).toEqual(['profiles.db', 'profiles.db.reserve']);
  });

  test('can be checked and backed up first, and its backup can be restored', () => {
    const { folder, path } = makeUnreleased();
    const db = withTables(openDatabase(path, 'look'));
    expect(checkDatabase(db).faults).toEqual([]);
    backupDatabase(db, join(folder, 'backup.db'));
    db.$client.close();
    expect(verifyBackup(join(folder, 'backup.db'))).toMatchObject({ profiles: 1, schema: 1, isOlder: true });
  });

  test('is upgraded in one step by a later version, which copies it first', async () => {
    const { folder, path } = makeUnreleased();
    const { openDatabase: openByNext } = (await import(
      join(nextVersion().folder, 'shared/db-files/open.ts')
    )) as typeof import('../../../shared/db-files/open.ts');
    const { $client } = openByNext(path, 'serve');
    expect($client.query('SELECT name FROM migrations').values().flat()).toEqual(
      NEXT_MIGRATIONS.map(({ name }) => name),
    );
    $client.close();
    const copies = readdirSync(folder).filter((name) => name.includes('.before-schema-2-'));
    expect(copies).toHaveLength(1);
    openDatabase(join(folder, copies[0] as string), 'serve').$client.close();
  });
});

test('an earlier database, or a backup of one, is refused and left unchanged; the sentence names the last commit', () => {
  for (const lines of [MAIN.slice(0, -1), [EARLIEST], [EARLIEST, ...MAIN]]) {
    const { folder, path } = makeUnreleased(lines);
    const before = readFileSync(path);
    for (const mode of ['serve', 'fill', 'use', 'look'] as const) {
      expect(() => openDatabase(path, mode)).toThrow(
        `The database ${path} was made before version 0.1.0 and can't be upgraded directly: run "profilectl serve" of commit ${LAST_UNRELEASED_COMMIT} on it once, and then this version.`,
      );
    }
    expect(readFileSync(path).equals(before)).toBe(true);
    const backup = openBare(path, 'write');
    backup.run('PRAGMA journal_mode = DELETE');
    backup.close();
    expect(() => verifyBackup(path)).toThrow(LAST_UNRELEASED_COMMIT);
    expect(readdirSync(folder)).toEqual(['profiles.db']);
  }
});

test('the sessions file of the last unreleased commit is upgraded, and an earlier one is left unchanged', () => {
  for (const lines of [SESSIONS, SESSIONS.slice(0, -1)]) {
    const { config } = testDeps();
    const file = openSessionsFile(config.databasePath);
    const key = fileKey(file);
    setList(file.sqlite, lines);
    const content = contentOf(file.sqlite);
    file.sqlite.run('PRAGMA wal_checkpoint(TRUNCATE)');
    closeSessionsFile(file);
    if (lines === SESSIONS) {
      const taken = openSessionsFile(config.databasePath);
      expect(listOf(taken.sqlite)).toEqual(firstOf(SESSIONS_MIGRATIONS));
      expect(contentOf(taken.sqlite)).toEqual(content);
      expect(fileKey(taken)).toEqual(key);
      closeSessionsFile(taken);
    } else {
      const before = readFileSync(file.path);
      expect(() => openSessionsFile(config.databasePath)).toThrow('Stop the server and move the file away');
      expect(readFileSync(file.path).equals(before)).toBe(true);
    }
  }
});
