import { expect, test } from 'bun:test';
import { existsSync, readFileSync } from 'node:fs';
import { openDatabase } from '../../../shared/db-files/open.ts';
import { onBox } from '../../support/actors.ts';
import { type Finished, profilectl } from '../../support/cli.ts';
import { eraseProfile } from '../../support/erase.ts';
import { importLines, jsonLines } from '../../support/import.ts';
import { issue } from '../../support/keys.ts';
import { startServerProcess } from '../../support/machine/server-process.ts';
import { markedProfile } from '../../support/storage/marks.ts';
import { emptyLogSoon } from '../../support/storage/write-ahead-log.ts';
import { testDeps } from '../../support/world.ts';

// If rows were never moved between pages, nothing of an erased profile is left in the files. Otherwise a VACUUM is
// needed (`test/faults/files/vacuum.test.ts`).

const SUFFIXES = ['', '-wal', '-shm'];

function filesOf(path: string): string {
  return SUFFIXES.map((suffix) => (existsSync(path + suffix) ? readFileSync(path + suffix, 'latin1') : '')).join('');
}

test('nothing of an erased profile and its keys is left in the database and its log', async () => {
  const deps = testDeps();
  const path = deps.config.databasePath;
  await importLines(deps, [markedProfile(1), markedProfile(2), markedProfile(3)]);
  await issue(deps, { profile: 'xm1quser0', name: 'Bot xm1q', description: 'xm1q '.repeat(30), expectedUsage: 'xm1q' });
  expect(filesOf(path)).toContain('xm1q');
  expect(eraseProfile(deps, 'xm1quser0', onBox('operator')).warning).toBeNull();
  expect(filesOf(path)).not.toMatch(/xm1q/i);
  // A log that still has the profile.
  await importLines(deps, [markedProfile(2, 1)]);
  await importLines(deps, [{ id: 2, deleted: true }]);
  expect(filesOf(path)).not.toMatch(/xm2q/i);
  expect(filesOf(path)).toContain('xm3q');
});

test('nothing is left after an erasure by an import or a command, even while a server has the database open', async () => {
  const deps = testDeps();
  const path = deps.config.databasePath;
  const server = await startServerProcess({ DATABASE_PATH: path });
  const put = (...lines: object[]) =>
    profilectl(['profiles', 'import', '-', '--db', path], { stdin: jsonLines(...lines) });
  await put(markedProfile(1), markedProfile(2));
  expect(filesOf(path)).toContain('xm1q');
  const expectGone = async ({ code, stderr }: Finished, mark: RegExp) => {
    expect(code).toBe(0);
    // The server may be reading at that moment; then the command says so, and the log is emptied later.
    if (stderr !== '') {
      expect(stderr).toContain('Other processes are reading');
      await emptyLogSoon(deps.db.$client);
    }
    expect(filesOf(path)).not.toMatch(mark);
  };
  await expectGone(await put({ id: 1, deleted: true }), /xm1q/i);
  await expectGone(await profilectl(['profiles', 'erase', 'xm2quser0', '--yes', '--db', path]), /xm2q/i);
  expect(await server.end()).toBe(0);
  expect(server.printed()).not.toMatch(/m[12]q/i);
});

test('if a long read transaction keeps the log in use, a warning says so, and the log can be emptied later', async () => {
  const deps = testDeps();
  const path = deps.config.databasePath;
  await importLines(deps, [markedProfile(1), markedProfile(2)]);
  const reader = openDatabase(path, 'use').$client;
  reader.run('BEGIN');
  reader.query('SELECT count(*) FROM profiles').get();
  deps.db.$client.run('PRAGMA busy_timeout = 10');
  expect(eraseProfile(deps, 'xm1quser0', onBox('operator')).warning).toContain('write-ahead log');
  const warnings: string[] = [];
  await importLines(deps, [{ id: 2, deleted: true }], { onWarning: (sentence) => void warnings.push(sentence) });
  expect(warnings).toEqual([expect.stringContaining('write-ahead log')]);
  for (const mark of ['xm1q', 'xm2q']) expect(filesOf(path)).toContain(mark);
  reader.run('ROLLBACK');
  reader.close();
  deps.db.$client.run('PRAGMA wal_checkpoint(TRUNCATE)');
  expect(filesOf(path)).not.toMatch(/xm[12]q/i);
});
