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
import { migrate } from '../../../shared/db/migrate.ts';
import { MIGRATIONS } from '../../../shared/db/migrations.ts';
import { openDatabase } from '../../../shared/db-files/open.ts';
import { prepareRestore } from '../../../shared/upkeep/restore.ts';
import { onBox } from '../../support/actors.ts';
import { profilectl } from '../../support/cli.ts';
import { jsonLines } from '../../support/import.ts';
import { startServerProcess } from '../../support/machine/server-process.ts';
import { KEY, openTerminal } from '../../support/machine/terminal.ts';
import { NEXT_MIGRATIONS, nextVersion } from '../../support/machine/upgrade.ts';
import { refusal } from '../../support/refusal.ts';
import { tempFolder } from '../../support/world.ts';

/** The commands that the tests run on the database and the backup of a folder. */
function commandsIn(folder: string) {
  const db = join(folder, 'profiles.db');
  const file = join(folder, 'backup.sqlite');
  const run = (...words: string[]) => profilectl([...words, '--db', db]);
  const put = (...lines: object[]) =>
    profilectl(['profiles', 'import', '-', '--db', db], { stdin: jsonLines(...lines) });
  return { db, file, run, put };
}

/** The folder that each test gets a copy of. */
const made = tempFolder();
const { file: madeBackup, run: runOnMade, put: putIntoMade } = commandsIn(made);
await putIntoMade({ id: 1, username: 'ada' });
expect((await runOnMade('db', 'backup', madeBackup)).code).toBe(0);
await putIntoMade({ id: 2, username: 'bob' });

/** A database with Ada, a backup of it, and then Bob in the database too. */
async function world() {
  const folder = tempFolder();
  cpSync(made, folder, { recursive: true });
  const { db, file, run, put } = commandsIn(folder);
  const names = async (path = db) =>
    (await profilectl(['profiles', 'export', '--db', path])).stdout
      .split('\n')
      .filter(Boolean)
      .map((line) => JSON.parse(line).username);
  const aside = () => readdirSync(folder).filter((name) => name.includes('.before-restore-'));
  return { folder, db, file, run, put, names, aside };
}

describe('a backup that changes while the question stands', () => {
  /** Another backup, with Ada and Bob. */
  async function otherBackup({ folder, run }: Awaited<ReturnType<typeof world>>): Promise<string> {
    const other = join(folder, 'other.sqlite');
    expect((await run('db', 'backup', other)).code).toBe(0);
    return other;
  }

  test.each([
    ['is replaced by another one', (file: string, other: string) => renameSync(other, file)],
    ['is written over with another one', (file: string, other: string) => copyFileSync(other, file)],
    [
      'gets a log of later changes',
      (file: string) => {
        const open = openFile(file, 1000);
        open.run("UPDATE profiles SET username = 'eve'");
        const log = readFileSync(`${file}-wal`);
        open.close();
        writeFileSync(`${file}-wal`, log);
      },
    ],
  ])('%s: it is not put in, and asked about again', async (_what, change) => {
    const here = await world();
    const { db, file, names, aside } = here;
    const other = await otherBackup(here);
    const before = await names();
    const terminal = openTerminal(['db', 'restore', file, '--db', db]);
    await terminal.see('(1 profile, 0 keys)?');
    change(file, other);
    terminal.type(`y${KEY.enter}`);
    await terminal.see('has changed meanwhile: somebody has written to it or replaced it. Nothing was done.');
    await terminal.see('Replace ');
    terminal.type(KEY.enter);
    expect(await terminal.exited).toBe(130);
    expect([await names(), aside()]).toEqual([before, []]);
  });

  test('is put in with the numbers of the second question after a second yes', async () => {
    const here = await world();
    const { db, file, put, names } = here;
    const other = await otherBackup(here);
    await put({ id: 3, username: 'eve' });
    const terminal = openTerminal(['db', 'restore', file, '--db', db]);
    await terminal.see('(1 profile, 0 keys)?');
    renameSync(other, file);
    terminal.type(`y${KEY.enter}`);
    await terminal.see('(2 profiles, 0 keys)?');
    terminal.type(`y${KEY.enter}`);
    await terminal.see('Restored 2 profiles and 0 keys');
    expect(await terminal.exited).toBe(0);
    expect(await names()).toEqual(['ada', 'bob']);
  });

  test('is refused with --yes where it changes between the check and the copy, and the database stays as it was', async () => {
    const here = await world();
    const { db, file, names, aside } = here;
    const other = await otherBackup(here);
    const restore = prepareRestore(db, file);
    copyFileSync(other, file);
    const error = await refusal(() => restore.run({ isRestored: false, by: onBox('root') }));
    restore.release();
    expect(error.code).toBe('changed_since');
    expect([await names(), aside()]).toEqual([['ada', 'bob'], []]);
  });
});

describe('db restore', () => {
  test('puts the backup in place and keeps the old database aside, whole', async () => {
    const { folder, db, file, run, names, aside } = await world();
    const before = readFileSync(file);
    const done = await run('db', 'restore', file, '--yes');
    expect(done).toMatchObject({ code: 0, stdout: `Restored 1 profile and 0 keys from ${file}.\n` });
    expect(done.stderr).toContain(
      'revoked and profiles that were erased since this backup, if any, are as they were then.',
    );
    expect(await names()).toEqual(['ada']);
    expect(statSync(db).mode & 0o777).toBe(0o600);
    const [kept = '', ...more] = aside();
    expect(more).toEqual([]);
    expect(done.stderr).toContain(join(folder, kept));
    expect(await names(join(folder, kept))).toEqual(['ada', 'bob']);
    expect(readFileSync(file).equals(before)).toBe(true);
    expect((await run('db', 'check')).code).toBe(0);
  });

  test('what was only in the write-ahead log is in the file that is kept aside', async () => {
    const { folder, db, file, run, names, aside } = await world();
    // As after a crash: the log was never folded in.
    const sqlite = openDatabase(db, 'use').$client;
    sqlite.run("UPDATE profiles SET username = 'robert' WHERE id = 2");
    for (const suffix of ['', '-wal']) copyFileSync(db + suffix, join(folder, `crashed${suffix}`));
    sqlite.close();
    for (const suffix of ['', '-wal']) copyFileSync(join(folder, `crashed${suffix}`), db + suffix);
    expect((await run('db', 'restore', file, '--yes')).code).toBe(0);
    expect(await names()).toEqual(['ada']);
    expect(await names(join(folder, aside()[0] as string))).toEqual(['ada', 'robert']);
  });

  test('mails that wait in the backup are given up, and named once, however many admins they are for', async () => {
    const { folder, run, put } = await world();
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

  test('works where there is no database yet, and a stale log of an earlier one does no harm', async () => {
    const { folder, db, file, run, names, aside } = await world();
    const elsewhere = join(folder, 'new/place/profiles.db');
    const done = await profilectl(['db', 'restore', file, '--yes', '--json', '--db', elsewhere]);
    const people = { admins: [], passkeys: [], tokens: [], isRestored: false };
    const shown = {
      file,
      profiles: 1,
      keys: 0,
      keptAside: null,
      droppedMails: [],
      people,
      undoneErasures: null,
      erasedAgain: 0,
    };
    expect(JSON.parse(done.stdout)).toEqual(shown);
    expect(await names(elsewhere)).toEqual(['ada']);
    const sqlite = openDatabase(db, 'use').$client;
    sqlite.run("UPDATE profiles SET username = 'robert' WHERE id = 2");
    copyFileSync(`${db}-wal`, join(folder, 'stale'));
    sqlite.close();
    rmSync(db);
    copyFileSync(join(folder, 'stale'), `${db}-wal`);
    expect((await run('db', 'restore', file, '--yes')).code).toBe(0);
    expect(await names()).toEqual(['ada']);
    expect(aside()).toEqual([expect.stringMatching(/-wal$/)]);
  });

  test('a database that is reached through a link is replaced where it is, not the link', async () => {
    const { folder, db, file, names, aside } = await world();
    const link = join(tempFolder(), 'link.db');
    symlinkSync(db, link);
    expect((await profilectl(['db', 'restore', file, '--yes', '--db', link])).code).toBe(0);
    expect(lstatSync(link).isSymbolicLink()).toBe(true);
    expect(await names()).toEqual(['ada']);
    expect(await names(join(folder, aside()[0] as string))).toEqual(['ada', 'bob']);
  });

  test('refuses while a server runs, changing nothing', async () => {
    const { db, file, run, names, aside } = await world();
    const server = await startServerProcess({ DATABASE_PATH: db });
    const done = await run('db', 'restore', file, '--yes');
    expect(done).toMatchObject({ code: 1, stdout: '', stderr: expect.stringContaining('is running on') });
    expect(await server.end()).toBe(0);
    expect(await names()).toEqual(['ada', 'bob']);
    expect(aside()).toEqual([]);
  });

  test('no server can start while it asks', async () => {
    const { db, file, names } = await world();
    const terminal = openTerminal(['db', 'restore', file, '--db', db]);
    await terminal.see('Replace ');
    const serve = await profilectl(['serve', '--db', db], { variables: { PORT: '0' } });
    expect(serve).toMatchObject({ code: 1, stderr: expect.stringContaining('is running on') });
    terminal.type(`n${KEY.enter}`);
    expect(await terminal.exited).toBe(130);
    expect(await names()).toEqual(['ada', 'bob']);
  });

  test('refuses while another command has the database open: 75, nothing changed', async () => {
    const { db, file, run, names, aside } = await world();
    const other = openDatabase(db, 'use');
    other.$client.query('SELECT count(*) FROM profiles').get();
    const done = await run('db', 'restore', file, '--yes');
    other.$client.close();
    expect(done).toMatchObject({ code: 75, stderr: expect.stringContaining('Another command') });
    expect(await names()).toEqual(['ada', 'bob']);
    expect(aside()).toEqual([]);
  }, 30_000);

  test('off a terminal it wants --yes', async () => {
    const { file, run } = await world();
    expect(await run('db', 'restore', file)).toMatchObject({ code: 2, stderr: expect.stringContaining('--yes') });
  });

  test('refuses what is no sound backup of ours, before anything changes', async () => {
    const { folder, db, file, run, names, aside } = await world();
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
    const banned = join(folder, 'banned');
    copyFileSync(file, banned);
    const tampered = openBare(banned, 'write');
    tampered.run('PRAGMA ignore_check_constraints = ON');
    tampered.run('UPDATE profiles SET banned = 7');
    tampered.close();
    const cases: [string, RegExp][] = [
      [text, /not a Profile Lookup database/],
      [foreign, /not a Profile Lookup database/],
      [join(folder, 'empty'), /it is empty/],
      [torn, /damaged|can't be used/],
      [banned, /banned is damaged: CHECK constraint failed/],
      [newer, /newer version/],
      [join(folder, 'none'), /There is no file/],
      [folder, /not a file/],
      [db, /the database itself/],
    ];
    for (const [source, sentence] of cases) {
      const done = await run('db', 'restore', source, '--yes');
      expect(done.stderr).toMatch(sentence);
      expect(done).toMatchObject({ code: 1, stdout: '' });
    }
    expect(await names()).toEqual(['ada', 'bob']);
    expect(aside()).toEqual([]);
    expect(readdirSync(folder).filter((name) => name.includes('unfinished'))).toEqual([]);
  });

  test('an older backup is put in place as it is, and said to be older; serve upgrades it', async () => {
    const { db, file } = await world();
    const { words } = nextVersion();
    const done = await profilectl(['db', 'restore', file, '--yes', '--db', db], { program: words });
    expect(done.stderr).toContain('older schema');
    const applied = () => {
      const found = openBare(db, 'read');
      const { n } = found.query('SELECT count(*) AS n FROM migrations').get() as { n: number };
      found.close();
      return n;
    };
    expect(applied()).toBe(MIGRATIONS.length);
    const server = await startServerProcess({ DATABASE_PATH: db }, { words: [...words, 'serve'] });
    expect(await server.end()).toBe(0);
    expect(applied()).toBe(NEXT_MIGRATIONS.length);
  });

  test.each([
    ['an empty file', (db: string) => writeFileSync(db, '')],
    [
      'a database of a commit before version 0.1.0 without some tables',
      (db: string) => {
        const sqlite = openBare(db, 'write');
        for (const table of ['erased_profiles', 'platform_tokens', 'passkeys', 'admins'])
          sqlite.run(`DROP TABLE ${table}`);
        sqlite.close();
      },
    ],
  ])('%s is replaced like any other database, and not called damaged', async (_what, make) => {
    const { db, file, run, names, aside } = await world();
    make(db);
    const done = await run('db', 'restore', file, '--yes');
    expect(done).toMatchObject({ code: 0, stderr: expect.not.stringContaining('damaged') });
    expect(await names()).toEqual(['ada']);
    expect(aside()).not.toEqual([]);
  });

  test('a database that is too damaged to read is kept aside all the same', async () => {
    const { folder, db, file, run, names, aside } = await world();
    writeFileSync(db, 'the disk has eaten it '.repeat(1000));
    const done = await run('db', 'restore', file, '--yes');
    expect(done).toMatchObject({ code: 0, stderr: expect.stringContaining('it is damaged') });
    expect(await names()).toEqual(['ada']);
    expect(readFileSync(join(folder, aside()[0] as string), 'utf8')).toStartWith('the disk has eaten it');
  });

  test('what looks damaged because of its log is not replaced, and the sentence says what to do', async () => {
    const { folder, db, file, run, names, aside } = await world();
    const sqlite = openDatabase(db, 'use').$client;
    sqlite.run("UPDATE profiles SET username = 'robert' WHERE id = 2");
    const log = readFileSync(`${db}-wal`);
    sqlite.close();
    writeFileSync(db, readFileSync(db).fill(0xa5, 8192));
    writeFileSync(`${db}-wal`, log);
    const { ino } = statSync(db);
    const refused = await run('db', 'restore', file, '--yes');
    expect(refused.stderr).toContain('Nothing was replaced. To restore without the old database, move it and its -wal');
    expect(refused).toMatchObject({ code: 1, stdout: '' });
    expect(aside()).toEqual([]);
    expect(statSync(db).ino).toBe(ino);
    for (const name of readdirSync(folder).filter((one) => /\.db(-wal)?$/.test(one))) {
      renameSync(join(folder, name), join(folder, `moved ${name}`));
    }
    expect((await run('db', 'restore', file, '--yes')).code).toBe(0);
    expect(await names()).toEqual(['ada']);
  });

  test('a database whose pages are damaged is kept aside, and said to be damaged', async () => {
    const { folder, db, file, run, names, aside } = await world();
    const damaged = readFileSync(db).fill(0xa5, 8192);
    writeFileSync(db, damaged);
    const done = await run('db', 'restore', file, '--yes');
    expect(done).toMatchObject({ code: 0, stderr: expect.stringContaining('it is damaged') });
    expect(await names()).toEqual(['ada']);
    expect(
      readFileSync(join(folder, aside()[0] as string))
        .subarray(8192)
        .equals(damaged.subarray(8192)),
    ).toBe(true);
  });

  test('another program’s database is not replaced', async () => {
    const { folder, file, db } = await world();
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
