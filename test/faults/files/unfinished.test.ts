import { expect, test } from 'bun:test';
import { randomUUID } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { openFile } from '../../../shared/db/connect.ts';
import { listUnfinished } from '../../../shared/db-files/unfinished.ts';
import { cleanEnvironment, profilectl, profilectlWords } from '../../support/cli.ts';
import { eventually } from '../../support/eventually.ts';
import { startServerProcess } from '../../support/machine/server-process.ts';
import { HAS_STRACE } from '../../support/machine/strace.ts';
import { makeDatabase, nextVersion } from '../../support/machine/upgrade.ts';
import { expectSound } from '../../support/storage/sound.ts';
import { tempFolder } from '../../support/world.ts';

// Files left by a command that ends while it copies the database. strace ends or stops it at the system call that
// names the finished copy, or in a restore the old database. Skipped, and listed as such,
// if strace is missing or not permitted to trace.

/** A database of the current version, a backup of it in another folder, and another TMPDIR; `program` runs commands. */
async function world(program: readonly string[] = profilectlWords([])) {
  const [folder, elsewhere, temporary] = [tempFolder(), tempFolder(), tempFolder()];
  const db = join(folder, 'profiles.db');
  const good = join(elsewhere, 'good.sqlite');
  makeDatabase(db);
  makeDatabase(good);
  const variables = { DATABASE_PATH: db, TMPDIR: temporary, PORT: '0' };
  const run = (...words: string[]) => profilectl(words, { variables, program: [...program] });
  /** Starts a command that receives a signal when its copy is complete. */
  const startUntil = (signal: string, words: readonly string[]) => {
    // -D: the command is the child of this process, and strace traces it from a separate one.
    const trace = join(tempFolder(), 'trace');
    const strace = ['strace', '-D', '-f', '--seccomp-bpf', '-qq', '-o', trace];
    const child = Bun.spawn([...strace, '-e', `inject=link,linkat:signal=${signal}`, ...program, ...words], {
      env: cleanEnvironment(variables),
      stdio: ['ignore', 'ignore', 'ignore'],
    });
    return { child, trace };
  };
  const startNext = {
    backup: async () => expect((await run('db', 'backup', join(elsewhere, 'next.sqlite'))).code).toBe(0),
    restore: async () => expect((await run('db', 'restore', good, '--yes')).code).toBe(0),
    serve: async () =>
      expect(await (await startServerProcess(variables, { words: [...program, 'serve'] })).end()).toBe(0),
  };
  /** The files and folders of unfinished copies. */
  const left = () =>
    [folder, elsewhere, temporary].flatMap((parent) =>
      readdirSync(parent)
        .filter((name) => name.includes('unfinished'))
        .map((name) => join(parent, name)),
    );
  /** The status from the version whose schema the database has. */
  const readStatus = async () => {
    const status = ['status', '--json'];
    const before = await profilectl(status, { variables });
    const { stdout } = before.code === 0 ? before : await run(...status);
    return JSON.parse(stdout) as { unfinishedCopies: string[]; warnings: string[] };
  };
  return { db, elsewhere, good, startUntil, startNext, left, readStatus };
}

const INTERRUPTED = [
  ['backup', 'SIGINT', 'restore'],
  ['restore', 'SIGKILL', 'backup'],
  ['upgrade', 'SIGKILL', 'serve'],
] as const;

for (const [what, signal, next] of INTERRUPTED) {
  test.skipIf(!HAS_STRACE)(
    `the copy that an interrupted ${what} leaves (${signal}) is named by status, and removed by the next ${next}`,
    async () => {
      const { db, elsewhere, good, startUntil, startNext, left, readStatus } = await world(
        // The made-up next version upgrades a database of the current one.
        what === 'upgrade' ? nextVersion().words : undefined,
      );
      const words = {
        backup: ['db', 'backup', join(elsewhere, 'ended.sqlite')],
        restore: ['db', 'restore', good, '--yes'],
        upgrade: ['serve'],
      };
      const { child: ended } = startUntil(signal, words[what]);
      await ended.exited;
      expect(ended.signalCode).toBe(signal);
      const { unfinishedCopies, warnings } = await readStatus();
      expect(unfinishedCopies).toHaveLength(1);
      const [copy = ''] = unfinishedCopies;
      expect(left()).toContain(copy);
      expect(warnings.join('\n')).toContain(copy);
      await startNext[next]();
      expect(left()).toEqual([]);
      expect(listUnfinished(db)).toEqual([]);
      expectSound(db);
    },
    60_000,
  );
}

test.skipIf(!HAS_STRACE)(
  'copies of a live process are neither named nor removed, however long it takes',
  async () => {
    const { elsewhere, startUntil, startNext, left, readStatus } = await world();
    const file = join(elsewhere, 'slow.sqlite');
    const { child: backup, trace } = startUntil('SIGSTOP', ['db', 'backup', file]);
    await eventually(() => existsSync(trace) && readFileSync(trace, 'utf8').includes('stopped by SIGSTOP'));
    const whole = left();
    expect(whole).toHaveLength(2);
    expect((await readStatus()).unfinishedCopies).toEqual([]);
    await startNext.backup();
    await startNext.serve();
    expect(left()).toEqual(whole);
    backup.kill('SIGCONT');
    expect(await backup.exited).toBe(0);
    expect(existsSync(file)).toBe(true);
    expect(left()).toEqual([]);
  },
  60_000,
);

test('a torn note, or one that names another file, is removed alone; a copy without a note counts as unfinished', async () => {
  const { db, elsewhere, good, startNext, left, readStatus } = await world();
  writeFileSync(`${db}.unfinished-${randomUUID()}`, '');
  writeFileSync(`${db}.unfinished-${randomUUID()}`, 'torn '.repeat(1_000));
  const stray = openFile(`${db}.unfinished-${randomUUID()}`, 0);
  stray.run('PRAGMA journal_mode = DELETE');
  stray.run('CREATE TABLE copy (path TEXT NOT NULL) STRICT');
  stray.run('INSERT INTO copy (path) VALUES (?)', [good]);
  stray.close();
  const copies = [
    `${db}.${randomUUID()}.unfinished`,
    `${db}.before-schema-2-20260101T000000.000Z.${randomUUID()}.unfinished`,
  ];
  for (const copy of copies) writeFileSync(copy, 'half a copy');
  writeFileSync(`${copies[0]}-journal`, 'of the copy');
  const others = [
    `${db}.${randomUUID()}.unfinished-not`,
    join(elsewhere, `x.${randomUUID()}.unfinished`),
    `${db}.other.${randomUUID()}.unfinished`,
  ];
  for (const other of others) writeFileSync(other, 'of somebody else');
  // Only a plain file can be a note of ours: opening a pipe would block.
  const strange = ['pipe', 'link'].map(() => `${db}.unfinished-${randomUUID()}`) as [string, string];
  expect(Bun.spawnSync(['mkfifo', strange[0]]).exitCode).toBe(0);
  symlinkSync(good, strange[1]);
  // A copy to which SQLite is writing.
  const busy = `${db}.${randomUUID()}.unfinished`;
  const writer = openFile(busy, 0);
  writer.run('PRAGMA journal_mode = DELETE');
  writer.run('BEGIN EXCLUSIVE');
  expect((await readStatus()).unfinishedCopies.toSorted()).toEqual(copies.toSorted());
  await startNext.backup();
  expect(left().toSorted()).toEqual([...others, ...strange, busy].toSorted());
  writer.close();
  expect(existsSync(good)).toBe(true);
});
