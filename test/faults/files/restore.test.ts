import { expect, test } from 'bun:test';
import { copyFileSync, cpSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { readConfig } from '../../../shared/config/config.ts';
import { createDeps } from '../../../shared/deps.ts';
import { openDatabase } from '../../../shared/files/open.ts';
import { runCommand } from '../../cli/commands.ts';
import { commandEnvironment, profilectlWords } from '../../support/cli.ts';
import { enrol } from '../../support/people.ts';
import { jsonLines } from '../../support/profiles.ts';
import { rounds, seededRandom } from '../../support/rounds.ts';
import { tempFolder } from '../../support/world.ts';
import { HAS_STRACE } from '../machine.ts';

// A disk that fails once, at the system calls that `db restore` makes for the old database or the backup, at a random one
// of each kind. Skipped, and listed as such, if strace is missing or not
// permitted to trace.

/** The calls that fail. Locking and looking for files happens before and after reading and writing them. */
const CALLS =
  'pread64 pwrite64 fsync fdatasync ftruncate openat stat statx link linkat rename renameat unlink unlinkat'.split(' ');

/**
 * A folder with a backup and a database that has an admin and a backend's token. Its second profile is only in the
 * write-ahead log, as after a crash.
 */
async function makeWorld(): Promise<string> {
  const folder = tempFolder();
  const db = join(folder, 'profiles.db');
  const made = join(tempFolder(), 'profiles.db');
  const opened = openDatabase(made, 'fill');
  const config = readConfig({ DATABASE_PATH: made, PUBLIC_URL: 'https://api.example.org' });
  await enrol(createDeps(opened, config), 'Grace');
  expect((await runCommand(['tokens', 'add', 'backend', '--right', 'profiles', '--db', made])).code).toBe(0);
  expect((await runCommand(['db', 'backup', join(folder, 'backup.sqlite'), '--db', made])).code).toBe(0);
  const stdin = jsonLines({ id: 1, username: 'ada' });
  expect((await runCommand(['profiles', 'import', '-', '--db', made], { stdin })).code).toBe(0);
  for (const suffix of ['', '-wal']) copyFileSync(made + suffix, db + suffix);
  opened.$client.close();
  return folder;
}

/** The profiles, admins, passkeys and tokens of a database. */
function contentOf(path: string): object {
  const { $client: sqlite } = openDatabase(path, 'use');
  const all = (sql: string) => sqlite.query(sql).values().flat();
  const content = {
    profiles: all('SELECT username FROM profiles'),
    admins: all('SELECT name FROM admins'),
    passkeys: all('SELECT name FROM passkeys'),
    tokens: all('SELECT name FROM backend_tokens'),
  };
  sqlite.close();
  return content;
}

/** Runs `db restore` under strace in a copy of a folder; `seen` are the calls on the chosen files. */
async function restoreIn(made: string, instruction: string, of: 'database' | 'backup' = 'database') {
  const folder = tempFolder();
  cpSync(made, folder, { recursive: true });
  const [db, trace] = [join(folder, 'profiles.db'), join(folder, 'trace')];
  const files = of === 'backup' ? [join(folder, 'backup.sqlite')] : ['', '-wal', '-shm'].map((suffix) => db + suffix);
  const paths = files.flatMap((path) => ['-P', path]);
  const restore = profilectlWords(['db', 'restore', join(folder, 'backup.sqlite'), '--yes', '--db', db]);
  const child = Bun.spawn(
    ['strace', '-f', '--seccomp-bpf', '-qq', '-o', trace, '-e', instruction, ...paths, ...restore],
    {
      env: commandEnvironment(),
      stdio: ['ignore', 'ignore', 'pipe'],
    },
  );
  const done = { stderr: await new Response(child.stderr).text(), code: await child.exited };
  const left = readdirSync(folder).filter((name) => /before-restore|unfinished/.test(name));
  return { db, done, left, seen: readFileSync(trace, 'utf8') };
}

/** How many times each call appears. */
function timesIn(seen: string): [string, number][] {
  const names = seen.split('\n').map((line) => /^\d+ +(\w+)\(/.exec(line)?.[1]);
  return CALLS.map((call) => [call, names.filter((name) => name === call).length]);
}

const made = HAS_STRACE ? await makeWorld() : '';

test.skipIf(!HAS_STRACE)(
  'a disk that fails once never damages a sound database: everything is as before, or restored',
  async () => {
    const people = { admins: ['Grace'], passkeys: ['Laptop'], tokens: ['backend'] };
    const { seen } = await restoreIn(made, `trace=${CALLS.join(',')}`);
    const calls = timesIn(seen);
    expect(calls.reduce((sum, [, times]) => sum + times, 0)).toBeGreaterThan(30);
    const random = seededRandom('failures of the database');
    const failures = calls
      .filter(([, times]) => times > 0)
      .map(([call, times]) => `inject=${call}:error=EIO:when=${1 + Math.floor(random() * times)}`);
    const wrong = [];
    for (const failure of failures) {
      const { db, done, left, seen: failed } = await restoreIn(made, failure);
      expect(failed).toContain('INJECTED');
      const isRestored = done.code === 0;
      const expected = { ...people, profiles: isRestored ? [] : ['ada'] };
      const isReported = isRestored || (done.code === 1 && !/damaged|bug/.test(done.stderr));
      const hasRightFiles = isRestored ? left.some((name) => /Z$/.test(name)) : left.length === 0;
      const content = contentOf(db);
      if (!isReported || !hasRightFiles || !Bun.deepEquals(content, expected))
        wrong.push({ failure, done, left, content });
    }
    expect(wrong).toEqual([]);
  },
  300_000,
);

test.skipIf(!HAS_STRACE)(
  'a disk that fails once never makes a sound backup look damaged',
  async () => {
    const { seen } = await restoreIn(made, 'trace=pread64', 'backup');
    const times = seen.split('\n').filter((line) => line.includes('pread64(')).length;
    expect(times).toBeGreaterThan(30);
    const random = seededRandom('failures of the backup');
    for (let round = 0; round < rounds(2); round++) {
      const when = 1 + Math.floor(random() * times);
      const { done, left } = await restoreIn(made, `inject=pread64:error=EIO:when=${when}`, 'backup');
      expect(done.stderr).not.toMatch(/damaged|bug/);
      expect({ when, code: done.code, left }).toEqual({ when, code: 1, left: [] });
    }
  },
  120_000,
);
