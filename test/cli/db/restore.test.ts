import { describe, expect, test } from 'bun:test';
import {
  copyFileSync,
  cpSync,
  existsSync,
  lstatSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { openBare, openFile } from '../../../shared/db/connect.ts';
import { MIGRATIONS, migrate } from '../../../shared/db/migrate.ts';
import { openDatabase } from '../../../shared/db-files/open.ts';
import { backupDatabase } from '../../../shared/upkeep/backup.ts';
import { prepareRestore } from '../../../shared/upkeep/restore.ts';
import { onBox } from '../../support/actors.ts';
import { profilectl } from '../../support/cli.ts';
import { importLines, jsonLines } from '../../support/import.ts';
import { runCommand } from '../../support/machine/command.ts';
import { startServerProcess } from '../../support/machine/server-process.ts';
import { KEY, openTerminal } from '../../support/machine/terminal.ts';
import { NEXT_MIGRATIONS, nextVersion } from '../../support/machine/upgrade.ts';
import { usernamesIn } from '../../support/profiles.ts';
import { refusal } from '../../support/refusal.ts';
import { tempFolder, testDeps } from '../../support/world.ts';

/** The database and backup of a folder, and commands on them. */
function commandsIn(folder: string) {
  const db = join(folder, 'profiles.db');
  const file = join(folder, 'backup.sqlite');
  const run = (...words: string[]) => profilectl([...words, '--db', db]);
  const put = (...lines: object[]) =>
    profilectl(['profiles', 'import', '-', '--db', db], { stdin: jsonLines(...lines) });
  return { db, file, run, put };
}

/** Each test starts with a copy of this folder. */
const made = tempFolder();
/** Another backup, with Ada and Bob. */
const other = join(tempFolder(), 'other.sqlite');
await makeBackups();

/** Makes the backups, and the database as a copy of one, which no statement of this process keeps open. */
async function makeBackups() {
  const { db, file } = commandsIn(made);
  const deps = testDeps();
  await importLines(deps, [{ id: 1, username: 'ada' }]);
  backupDatabase(deps.db, file);
  await importLines(deps, [{ id: 2, username: 'bob' }], { merge: true });
  backupDatabase(deps.db, other);
  copyFileSync(other, db);
}

/** A backup with Ada, and a database with Ada and Bob. */
function world() {
  const folder = tempFolder();
  cpSync(made, folder, { recursive: true });
  const { db, file, run, put } = commandsIn(folder);
  const names = (path = db) => usernamesIn(path);
  const aside = () => readdirSync(folder).filter((name) => name.includes('.before-restore-'));
  return { folder, db, file, run, put, names, aside };
}

describe('a backup that changes before the answer', () => {
  /** Replaces a backup by the other one, with a new file. */
  const replace = (file: string) => {
    copyFileSync(other, `${file}.new`);
    renameSync(`${file}.new`, file);
  };

  const changes: [how: string, change: (file: string) => void][] = [
    ['because it is replaced', replace],
    ['because it is overwritten', (file) => copyFileSync(other, file)],
    [
      'because it gets a write-ahead log',
      (file) => {
        const open = openFile(file, 1000);
        open.run("UPDATE profiles SET username = 'eve'");
        const log = readFileSync(`${file}-wal`);
        open.close();
        writeFileSync(`${file}-wal`, log);
      },
    ],
  ];
  test.each(changes)('%s is refused, and the database stays unchanged', async (_how, change) => {
    const { db, file, names, aside } = world();
    const restore = prepareRestore(db, file);
    change(file);
    const error = await refusal(() => restore.run(onBox('root')));
    restore.release();
    expect(error.code).toBe('changed_since');
    expect([names(), aside()]).toEqual([['ada', 'bob'], []]);
  });

  test('is restored after a second yes, to a question with its new counts', async () => {
    const { db, file, put, names } = world();
    await put({ id: 3, username: 'eve' });
    const terminal = openTerminal(['db', 'restore', file, '--db', db]);
    await terminal.see('(1 profile, 0 keys)?');
    replace(file);
    terminal.type(`y${KEY.enter}`);
    await terminal.see('has changed since it was shown: it was written to or replaced. Nothing was done.');
    await terminal.see('(2 profiles, 0 keys)?');
    expect(names()).toEqual(['ada', 'bob', 'eve']);
    terminal.type(`y${KEY.enter}`);
    await terminal.see('Restored 2 profiles and 0 keys');
    expect(await terminal.exited).toBe(0);
    expect(names()).toEqual(['ada', 'bob']);
  });
});

describe('db restore', () => {
  test('replaces the database with the backup, and keeps all of the old database', async () => {
    const { folder, db, file, run, names, aside } = world();
    const before = readFileSync(file);
    const done = await run('db', 'restore', file, '--yes');
    expect(done).toMatchObject({ code: 0, stdout: `Restored 1 profile and 0 keys from ${file}.\n` });
    expect(done.stderr).toContain('Keys revoked since this backup, if any, are back in their former state.');
    expect(names()).toEqual(['ada']);
    expect(statSync(db).mode & 0o777).toBe(0o600);
    const [kept = '', ...more] = aside();
    expect(more).toEqual([]);
    expect(done.stderr).toContain(join(folder, kept));
    expect(names(join(folder, kept))).toEqual(['ada', 'bob']);
    expect(readFileSync(file).equals(before)).toBe(true);
    expect((await run('db', 'check')).code).toBe(0);
  });

  test('keeps changes that are only in the write-ahead log of the old database', async () => {
    const { folder, db, file, run, names, aside } = world();
    // As after a crash, before a checkpoint.
    const sqlite = openDatabase(db, 'use').$client;
    sqlite.run("UPDATE profiles SET username = 'robert' WHERE id = 2");
    for (const suffix of ['', '-wal']) copyFileSync(db + suffix, join(folder, `crashed${suffix}`));
    sqlite.close();
    for (const suffix of ['', '-wal']) copyFileSync(join(folder, `crashed${suffix}`), db + suffix);
    expect((await run('db', 'restore', file, '--yes')).code).toBe(0);
    expect(names()).toEqual(['ada']);
    expect(names(join(folder, aside()[0] as string))).toEqual(['ada', 'robert']);
  });

  test('drops mails that are waiting in the backup, and names each once for all its recipients', async () => {
    const { folder, run, put } = world();
    await put({ id: 1, username: 'ada', email: 'ada@example.org' });
    const file = join(folder, 'with-request.sqlite');
    const words = ['--profile', 'ada', '--name', 'Bot', '--permission', 'api.lookup', '--description', 'd'.repeat(80)];
    const variables = { ADMIN_EMAIL: 'a@example.org,b@example.org' };
    const database = ['--db', join(folder, 'profiles.db')];
    const asked = await profilectl(['keys', 'request', ...words, ...database], { variables });
    const [identifier] = asked.stdout.split(' ');
    await run('db', 'backup', file);
    const done = await run('db', 'restore', file, '--yes');
    expect(done.stderr).toContain(
      `2 mails waiting in the backup may have been sent since, and will not be sent: request about key ${identifier}.`,
    );
  });

  test('works without a database, and ignores a stale write-ahead log', async () => {
    const { folder, db, file, run, names, aside } = world();
    const elsewhere = join(folder, 'new/place/profiles.db');
    const done = await profilectl(['db', 'restore', file, '--yes', '--json', '--db', elsewhere]);
    const people = { admins: [], passkeys: [], tokens: [], areRestored: true };
    const shown = {
      file,
      profiles: 1,
      keys: 0,
      keptAside: null,
      droppedMails: [],
      people,
      erasedAgain: null,
    };
    expect(JSON.parse(done.stdout)).toEqual(shown);
    expect(names(elsewhere)).toEqual(['ada']);
    const sqlite = openDatabase(db, 'use').$client;
    sqlite.run("UPDATE profiles SET username = 'robert' WHERE id = 2");
    copyFileSync(`${db}-wal`, join(folder, 'stale'));
    sqlite.close();
    rmSync(db);
    copyFileSync(join(folder, 'stale'), `${db}-wal`);
    expect((await run('db', 'restore', file, '--yes')).code).toBe(0);
    expect(names()).toEqual(['ada']);
    expect(aside()).toEqual([expect.stringMatching(/-wal$/)]);
  });

  test('replaces the target of a symbolic link, not the link', async () => {
    const { folder, db, file, names, aside } = world();
    const link = join(tempFolder(), 'link.db');
    symlinkSync(db, link);
    expect((await profilectl(['db', 'restore', file, '--yes', '--db', link])).code).toBe(0);
    expect(lstatSync(link).isSymbolicLink()).toBe(true);
    expect(names()).toEqual(['ada']);
    expect(names(join(folder, aside()[0] as string))).toEqual(['ada', 'bob']);
  });

  test('refuses while a server is running', async () => {
    const { db, file, run, names, aside } = world();
    const server = await startServerProcess({ DATABASE_PATH: db });
    const done = await run('db', 'restore', file, '--yes');
    expect(done).toMatchObject({ code: 1, stdout: '', stderr: expect.stringContaining('is running on') });
    expect(await server.end()).toBe(0);
    expect(names()).toEqual(['ada', 'bob']);
    expect(aside()).toEqual([]);
  });

  test('keeps servers from starting while it asks', async () => {
    const { db, file, names } = world();
    const terminal = openTerminal(['db', 'restore', file, '--db', db]);
    await terminal.see('Replace ');
    const serve = await profilectl(['serve', '--db', db], { variables: { PORT: '0' } });
    expect(serve).toMatchObject({ code: 1, stderr: expect.stringContaining('is running on') });
    terminal.type(`n${KEY.enter}`);
    expect(await terminal.exited).toBe(130);
    expect(names()).toEqual(['ada', 'bob']);
  });

  test('refuses while another command has the database open (exit code 75)', async () => {
    const { db, file, run, names, aside } = world();
    const other = openDatabase(db, 'use');
    other.$client.query('SELECT count(*) FROM profiles').get();
    const done = await run('db', 'restore', file, '--yes');
    other.$client.close();
    expect(done).toMatchObject({ code: 75, stderr: expect.stringContaining('Another command') });
    expect(names()).toEqual(['ada', 'bob']);
    expect(aside()).toEqual([]);
  }, 30_000);

  test('needs --yes without a terminal', async () => {
    const { file, run } = world();
    expect(await run('db', 'restore', file)).toMatchObject({ code: 2, stderr: expect.stringContaining('--yes') });
  });

  test('refuses backups that are damaged or were changed, and other files, before it changes anything', async () => {
    const { folder, db, file, names, aside } = world();
    const text = join(folder, 'text');
    writeFileSync(text, 'not a database at all, whatever its name says');
    const foreign = join(folder, 'foreign');
    openFile(foreign, 0).run('CREATE TABLE theirs (x)');
    const torn = join(folder, 'torn');
    const bytes = readFileSync(file);
    bytes.fill(0xa5, 8192, 20_000);
    writeFileSync(torn, bytes);
    const newer = join(folder, 'newer');
    const made = openFile(newer, 0);
    migrate(made, newer, NEXT_MIGRATIONS);
    made.close();
    writeFileSync(join(folder, 'empty'), '');
    /** A backup as anyone could change it who can write to it. */
    const changed = (name: string, ...statements: string[]) => {
      const path = join(folder, name);
      copyFileSync(file, path);
      const sqlite = openBare(path, 'write');
      for (const statement of statements) sqlite.run(statement);
      sqlite.close();
      return path;
    };
    const banned = changed('banned', 'PRAGMA ignore_check_constraints = ON', 'UPDATE profiles SET banned = 7');
    // The triggers would also prevent that profiles are erased again.
    const hindering = changed('more', 'CREATE TRIGGER back BEFORE DELETE ON profiles BEGIN SELECT RAISE(IGNORE); END');
    const replaced = changed(
      'other',
      'DROP TRIGGER api_keys_never_deleted',
      'CREATE TRIGGER api_keys_never_deleted AFTER DELETE ON profiles BEGIN SELECT 1; END',
    );
    const cases: [string, RegExp][] = [
      [torn, /damaged|can't be used/],
      [banned, /banned is damaged: CHECK constraint failed/],
      [hindering, /was changed outside of this program: it has a trigger back/],
      [replaced, /was changed outside of this program: it lacks the trigger api_keys_never_deleted/],
      [changed('fewer', 'DROP TABLE erased_profiles'), /was changed outside of this program: it lacks the table /],
      [
        changed(
          'view',
          'DROP TABLE erased_profiles',
          'CREATE VIEW erased_profiles AS SELECT id, 9e15 AS at FROM profiles',
        ),
        /was changed outside of this program: it lacks the table erased_profiles/,
      ],
      [newer, /newer version/],
      [db, /the database itself/],
      [text, /not a Profile Lookup database/],
      [foreign, /not a Profile Lookup database/],
      [join(folder, 'empty'), /it is empty/],
      [join(folder, 'none'), /There is no file/],
      [folder, /not a file/],
    ];
    const restore = (source: string) => {
      const prepared = prepareRestore(db, source);
      try {
        prepared.run(onBox('root'));
      } finally {
        prepared.release();
      }
    };
    for (const [source, sentence] of cases) {
      const error = await refusal(() => restore(source));
      expect([error.code, error.message]).toEqual(['refused', expect.stringMatching(sentence)]);
    }
    const done = await runCommand(['db', 'restore', hindering, '--yes', '--db', db]);
    expect(done).toEqual({
      code: 1,
      stdout: '',
      stderr: expect.stringContaining('was changed outside of this program'),
    });
    expect(names()).toEqual(['ada', 'bob']);
    expect(aside()).toEqual([]);
    expect(readdirSync(folder).filter((name) => name.includes('unfinished'))).toEqual([]);
  });

  test('restores a backup of an older schema as it is', async () => {
    const { db, file } = world();
    const { words } = nextVersion();
    const done = await profilectl(['db', 'restore', file, '--yes', '--db', db], { program: words });
    expect(done.code).toBe(0);
    const found = openBare(db, 'read');
    expect(found.query('PRAGMA user_version').get()).toEqual({ user_version: MIGRATIONS.length });
    found.close();
  });

  test.each([
    ['an empty file', (db: string) => writeFileSync(db, '')],
    [
      'a database without some tables',
      (db: string) => {
        const sqlite = openBare(db, 'write');
        for (const table of ['erased_profiles', 'platform_tokens', 'passkeys', 'admins'])
          sqlite.run(`DROP TABLE ${table}`);
        sqlite.close();
      },
    ],
  ])('replaces %s like any other database, without calling it damaged', async (_what, make) => {
    const { db, file, run, names, aside } = world();
    make(db);
    const done = await run('db', 'restore', file, '--yes');
    expect(done).toMatchObject({ code: 0, stderr: expect.not.stringContaining('damaged') });
    expect(names()).toEqual(['ada']);
    expect(aside()).not.toEqual([]);
  });

  test('keeps a database even if it is too damaged to read', async () => {
    const { folder, db, file, run, names, aside } = world();
    writeFileSync(db, 'the disk has eaten it '.repeat(1000));
    const done = await run('db', 'restore', file, '--yes');
    expect(done).toMatchObject({ code: 0, stderr: expect.stringContaining('it is damaged') });
    expect(names()).toEqual(['ada']);
    expect(readFileSync(join(folder, aside()[0] as string), 'utf8')).toStartWith('the disk has eaten it');
  });

  test('refuses to replace a damaged database with a write-ahead log, and says what to do', async () => {
    const { folder, db, file, run, names, aside } = world();
    const sqlite = openDatabase(db, 'use').$client;
    sqlite.run("UPDATE profiles SET username = 'robert' WHERE id = 2");
    const log = readFileSync(`${db}-wal`);
    sqlite.close();
    writeFileSync(db, readFileSync(db).fill(0xa5, 8192));
    writeFileSync(`${db}-wal`, log);
    const { ino } = statSync(db);
    const refused = await run('db', 'restore', file, '--yes');
    expect(refused.stderr).toContain(
      'Nothing was replaced. To restore anyway, first move the old database and its -wal',
    );
    expect(refused).toMatchObject({ code: 1, stdout: '' });
    expect(aside()).toEqual([]);
    expect(statSync(db).ino).toBe(ino);
    for (const name of readdirSync(folder).filter((one) => /\.db(-wal)?$/.test(one))) {
      renameSync(join(folder, name), join(folder, `moved ${name}`));
    }
    expect((await run('db', 'restore', file, '--yes')).code).toBe(0);
    expect(names()).toEqual(['ada']);
  });

  test('keeps a database with damaged pages, and says that it is damaged', async () => {
    const { folder, db, file, run, names, aside } = world();
    const damaged = readFileSync(db).fill(0xa5, 8192);
    writeFileSync(db, damaged);
    const done = await run('db', 'restore', file, '--yes');
    expect(done).toMatchObject({ code: 0, stderr: expect.stringContaining('it is damaged') });
    expect(names()).toEqual(['ada']);
    expect(
      readFileSync(join(folder, aside()[0] as string))
        .subarray(8192)
        .equals(damaged.subarray(8192)),
    ).toBe(true);
  });

  test('refuses to replace a database of another program', async () => {
    const { folder, file, db } = world();
    const theirs = join(folder, 'theirs.db');
    const sqlite = openFile(theirs, 0);
    sqlite.run('PRAGMA application_id = 42');
    sqlite.run('CREATE TABLE theirs (x)');
    sqlite.close();
    const done = await profilectl(['db', 'restore', file, '--yes', '--db', theirs]);
    expect(done).toMatchObject({ code: 1, stderr: expect.stringContaining('another program') });
    expect(existsSync(db)).toBe(true);
  });
});
