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
import { systemClock } from '../../../shared/clock.ts';
import { openAsItIs, openFile } from '../../../shared/db/connect.ts';
import { migrate } from '../../../shared/db/migrate.ts';
import { copyDatabase } from '../../../shared/files/copy.ts';
import { openDatabase } from '../../../shared/files/open.ts';
import { prepareRestore } from '../../../shared/files/restore.ts';
import { openLimits } from '../../../shared/limits/limits.ts';
import { readStored } from '../../../shared/limits/stored.ts';
import { profilectl } from '../../support/cli.ts';
import { NEXT_MIGRATIONS, nextVersion, startServerProcess } from '../../support/machine.ts';
import { MAIL_CONFIG } from '../../support/mail.ts';
import { importLines, jsonLines, usernamesIn } from '../../support/profiles.ts';
import { leftIn, saveTo, use } from '../../support/storage.ts';
import { onBox, refusal, tempFolder, testDeps } from '../../support/world.ts';
import { KEY, openTerminal } from '../commands.ts';

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
  copyDatabase(deps.db.$client, file, () => {});
  await importLines(deps, [{ id: 2, username: 'bob' }], { merge: true });
  copyDatabase(deps.db.$client, other, () => {});
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

describe('db restore', () => {
  test('replaces the database with the backup, and keeps all of the old database', async () => {
    const { folder, db, file, run, names, aside } = world();
    const before = readFileSync(file);
    const done = await run('db', 'restore', file, '--yes');
    expect(done).toMatchObject({ code: 0, stdout: `Restored 1 profile and 0 keys from ${file}.\n` });
    expect(names()).toEqual(['ada']);
    expect(statSync(db).mode & 0o777).toBe(0o600);
    const [kept = '', ...more] = aside();
    expect(more).toEqual([]);
    expect(done.stderr).toContain(join(folder, kept));
    expect(names(join(folder, kept))).toEqual(['ada', 'bob']);
    expect(readFileSync(file).equals(before)).toBe(true);
    expect((await run('db', 'check')).code).toBe(0);
  });

  test('keeps what keys have spent according to the replaced database', async () => {
    const { db, run } = world();
    const key = { identifier: 'k7Qm2XaB', rateLimits: [{ quota: 9, windowSeconds: 86_400 }] };
    const spendIn = (path: string, count: number) => {
      using sqlite = openFile(path, 1_000);
      const limits = openLimits(systemClock, readStored(sqlite));
      use(limits, key, count);
      saveTo(sqlite, limits);
    };
    spendIn(db, 2);
    const file = join(tempFolder(), 'older.sqlite');
    expect((await run('db', 'backup', file)).code).toBe(0);
    spendIn(db, 3);
    expect((await run('db', 'restore', file, '--yes')).code).toBe(0);
    using restored = openFile(db, 1_000);
    expect(leftIn(restored, key, systemClock)).toEqual([4]);
  });

  test('keeps changes that are only in the write-ahead log of the old database', async () => {
    const { folder, db, file, run, names, aside } = world();
    // As after a crash, before a checkpoint.
    const sqlite = openDatabase(db, 'use').$client;
    sqlite.run("UPDATE profiles SET profile = json_set(profile, '$.username', 'robert') WHERE id = 2");
    for (const suffix of ['', '-wal']) copyFileSync(db + suffix, join(folder, `crashed${suffix}`));
    sqlite.close();
    for (const suffix of ['', '-wal']) copyFileSync(join(folder, `crashed${suffix}`), db + suffix);
    expect((await run('db', 'restore', file, '--yes')).code).toBe(0);
    expect(names()).toEqual(['ada']);
    expect(names(join(folder, aside()[0] as string))).toEqual(['ada', 'robert']);
  });

  test('works without a database, and ignores a stale write-ahead log', async () => {
    const { folder, db, file, run, names, aside } = world();
    const elsewhere = join(folder, 'new/place/profiles.db');
    const done = await profilectl(['db', 'restore', file, '--yes', '--json', '--db', elsewhere]);
    const kept = { erased: [], banned: [], keys: [], admins: [], passkeys: [], tokens: [] };
    expect(JSON.parse(done.stdout)).toEqual({ file, profiles: 1, keys: 0, replaced: null, kept });
    expect(names(elsewhere)).toEqual(['ada']);
    const sqlite = openDatabase(db, 'use').$client;
    sqlite.run("UPDATE profiles SET profile = json_set(profile, '$.username', 'robert') WHERE id = 2");
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

  test('refuses a backup that another file has replaced while it asked', async () => {
    const { db, file, names, aside } = world();
    const terminal = openTerminal(['db', 'restore', file, '--db', db]);
    await terminal.see('(1 profile, 0 keys)');
    copyFileSync(other, `${file}.new`);
    renameSync(`${file}.new`, file);
    terminal.type(`y${KEY.enter}`);
    await terminal.see('has changed since it was checked');
    expect(await terminal.exited).toBe(1);
    expect(names()).toEqual(['ada', 'bob']);
    expect(aside()).toEqual([]);
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
      const sqlite = openAsItIs(path, 'write');
      for (const statement of statements) sqlite.run(statement);
      sqlite.close();
      return path;
    };
    const banned = changed(
      'banned',
      'PRAGMA ignore_check_constraints = ON',
      "UPDATE profiles SET profile = json_set(profile, '$.banned', 7)",
    );
    const cases: [string, RegExp][] = [
      [torn, /damaged|can't be used/],
      [banned, /banned is damaged: CHECK constraint failed/],
      [newer, /newer version/],
      [db, /the database itself/],
      [text, /not a Profile Lookup database/],
      [foreign, /not a Profile Lookup database/],
      [join(folder, 'empty'), /it is empty/],
      [join(folder, 'none'), /There is no file/],
      [folder, /not a file/],
    ];
    const restore = (source: string) => {
      const prepared = prepareRestore(db, source, MAIL_CONFIG);
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
    expect(names()).toEqual(['ada', 'bob']);
    expect(aside()).toEqual([]);
    expect(readdirSync(folder).filter((name) => name.includes('unfinished'))).toEqual([]);
  });

  test('upgrades a backup of an older schema', async () => {
    const { db, file } = world();
    const { words } = nextVersion();
    const done = await profilectl(['db', 'restore', file, '--yes', '--db', db], { program: words });
    expect(done.code).toBe(0);
    const found = openAsItIs(db, 'read');
    expect(found.query('PRAGMA user_version').get()).toEqual({ user_version: NEXT_MIGRATIONS.length });
    found.close();
  });

  test('removes what a killed restore left, which status names', async () => {
    const { folder, db, file, run } = world();
    writeFileSync(`${db}.unfinished`, 'half a copy');
    const { warnings, keptCopies } = JSON.parse((await run('status', '--json')).stdout);
    expect(keptCopies).toEqual([`${db}.unfinished`]);
    expect(warnings.join()).toContain(`${db}.unfinished is a copy of this database, which erasures do not reach`);
    expect((await run('db', 'restore', file, '--yes')).code).toBe(0);
    const left = readdirSync(folder)
      .filter((name) => !/^profiles\.db(-wal|-shm|\.lock)?$/.test(name))
      .sort();
    expect(left).toEqual([
      'backup.sqlite',
      expect.stringMatching(/^profiles\.db\.before-restore-\d{8}T\d{6}\.\d{3}Z$/),
    ]);
    expect(JSON.parse((await run('status', '--json')).stdout).keptCopies).toEqual([join(folder, left[1] as string)]);
  });

  test.each([
    ['an empty file', (db: string) => writeFileSync(db, '')],
    [
      'a database without a table',
      (db: string) => {
        const sqlite = openAsItIs(db, 'write');
        sqlite.run('DROP TABLE erased_profiles');
        sqlite.close();
      },
    ],
  ])('replaces %s like any other database', async (_what, make) => {
    const { db, file, run, names, aside } = world();
    make(db);
    const done = await run('db', 'restore', file, '--yes');
    expect(done).toMatchObject({ code: 0, stderr: expect.stringContaining('kept as') });
    expect(names()).toEqual(['ada']);
    expect(aside()).not.toEqual([]);
  });

  test('keeps a database even if it is too damaged to read', async () => {
    const { folder, db, file, run, names, aside } = world();
    writeFileSync(db, 'the disk has eaten it '.repeat(1000));
    const done = await run('db', 'restore', file, '--yes');
    expect(done).toMatchObject({ code: 0, stderr: expect.stringContaining("can't be read: nothing that was ended") });
    expect(names()).toEqual(['ada']);
    expect(readFileSync(join(folder, aside()[0] as string), 'utf8')).toStartWith('the disk has eaten it');
  });

  test('refuses to replace a damaged database with a write-ahead log, and says what to do', async () => {
    const { folder, db, file, run, names, aside } = world();
    const sqlite = openDatabase(db, 'use').$client;
    sqlite.run("UPDATE profiles SET profile = json_set(profile, '$.username', 'robert') WHERE id = 2");
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
    expect(done).toMatchObject({ code: 0, stderr: expect.stringContaining("can't be read: nothing that was ended") });
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
