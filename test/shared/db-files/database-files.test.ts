import { describe, expect, test } from 'bun:test';
import { linkSync, mkdirSync, readdirSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { isDatabaseFile } from '../../../shared/db-files/database-files.ts';
import { profilectl } from '../../support/cli.ts';
import { jsonLines } from '../../support/import.ts';
import { runCommand } from '../../support/machine/command.ts';
import { startServerProcess } from '../../support/machine/server-process.ts';
import { tempFolder, testDeps } from '../../support/world.ts';

/** The suffixes of files that the program may keep beside its database. */
const SIDES = [
  '',
  '-wal',
  '-shm',
  '-journal',
  '.quotas',
  '.quotas-wal',
  '.sessions',
  '.sessions-shm',
  '.reserve',
].concat(['.lock', '.import-lock', '.feed-lock', '.last-backup']);

describe('a file of a database', () => {
  test('is every file that the server and commands create beside it', async () => {
    const folder = tempFolder();
    const db = join(folder, 'data.db');
    const lines = jsonLines({ id: 7, username: 'ada', email: 'ada@example.org' });
    await profilectl(['profiles', 'import', '-', '--db', db], { stdin: lines });
    const server = await startServerProcess({ DATABASE_PATH: db });
    await profilectl(['db', 'backup', join(folder, 'copy'), '--db', db]);
    await profilectl(['admins', 'add', 'bea', '--db', db]);
    const beside = () => readdirSync(folder).filter((name) => name.startsWith('data.db'));
    const seen = new Set(beside());
    expect(await server.end()).toBe(0);
    await profilectl(['db', 'restore', join(folder, 'copy'), '--yes', '--db', db]);
    for (const name of [...seen, ...beside()])
      expect([name, isDatabaseFile(join(folder, name), db)]).toEqual([name, true]);
    expect(seen.size).toBeGreaterThan(8);
    expect(isDatabaseFile(join(folder, 'copy'), db)).toBe(false);
  });

  test('is recognised by every name: before it exists, through links, by a relative path, and beside other databases', () => {
    const { folder, config } = testDeps();
    const db = config.databasePath;
    mkdirSync(join(folder, 'elsewhere'));
    symlinkSync(folder, join(folder, 'elsewhere/there'));
    for (const known of [db, null]) {
      for (const side of SIDES.slice(known === null ? 1 : 0)) {
        const name = `profiles.db${side}`;
        const link = join(folder, 'elsewhere', `${known}`.length + name);
        symlinkSync(join(folder, name), link);
        for (const path of [
          join(folder, name),
          relative(process.cwd(), join(folder, name)),
          `${folder}/elsewhere/../${name}`,
          join(folder, 'elsewhere/there', name),
          link,
        ]) {
          expect([path, isDatabaseFile(path, known)]).toEqual([path, true]);
        }
      }
    }
    linkSync(`${db}-wal`, join(folder, 'elsewhere/hard'));
    expect(isDatabaseFile(join(folder, 'elsewhere/hard'), db)).toBe(true);
  });

  test('is not another file with a similar name', () => {
    const { folder, config } = testDeps();
    writeFileSync(join(folder, 'rejects'), '');
    writeFileSync(join(folder, 'profiles.db.rejects.jsonl'), '');
    for (const name of [
      'rejects',
      'rejects-wal',
      'profiles.db.rejects.jsonl',
      'profiles.db.2026-01-01',
      'no-wal',
      'none/profiles.db-wal',
    ]) {
      expect([name, isDatabaseFile(join(folder, name), config.databasePath)]).toEqual([name, false]);
    }
  });
});

test('no command writes its output to an existing or future file of a database that a server has open', async () => {
  const folder = tempFolder();
  const db = join(folder, 'profiles.db');
  const importing = (words: string[], stdin: string) => runCommand(['profiles', 'import', '-', ...words], { stdin });
  await importing(['--db', db], jsonLines({ id: 7, username: 'ada' }));
  const server = await startServerProcess({ DATABASE_PATH: db });
  linkSync(`${db}-wal`, join(folder, 'hard'));
  symlinkSync(`${db}.sessions`, join(folder, 'soft'));
  // The test of names above tries all files.
  for (const path of [db, `${db}-journal`, join(folder, 'hard'), join(folder, 'soft')]) {
    const before = statSync(path, { throwIfNoEntry: false });
    const imported = await importing(['--db', db, '--rejects', path], '{"id":8\n');
    expect([path, imported.code, imported.stderr]).toEqual([path, 2, expect.stringContaining('a file of a database')]);
    const backedUp = await runCommand(['db', 'backup', path, '--db', db]);
    expect([path, backedUp.code]).toEqual([path, 1]);
    // The files were not emptied, created or replaced.
    const after = statSync(path, { throwIfNoEntry: false });
    expect([path, after?.ino, (after?.size ?? 0) >= (before?.size ?? 0)]).toEqual([path, before?.ino, true]);
  }
  const exported = await runCommand(['profiles', 'export', '--db', db]);
  expect(exported.stdout).toContain('"username":"ada"');
  expect(await server.end()).toBe(0);
}, 60_000);
