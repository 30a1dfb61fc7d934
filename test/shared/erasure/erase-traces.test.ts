import { expect, test } from 'bun:test';
import { existsSync, readFileSync } from 'node:fs';
import { profilectl } from '../../support/cli.ts';
import { issue } from '../../support/keys.ts';
import { startServerProcess } from '../../support/machine.ts';
import { importLines, jsonLines } from '../../support/profiles.ts';
import { markedProfile } from '../../support/storage.ts';
import { testDeps } from '../../support/world.ts';

const SUFFIXES = ['', '-wal', '-shm'];

function filesOf(path: string): string {
  return SUFFIXES.map((suffix) => (existsSync(path + suffix) ? readFileSync(path + suffix, 'latin1') : '')).join('');
}

test('nothing of an erased profile and its keys is left in the database and its log after a vacuum', async () => {
  const deps = testDeps();
  const path = deps.config.databasePath;
  const server = await startServerProcess({ DATABASE_PATH: path });
  await importLines(deps, [markedProfile(1), markedProfile(2), markedProfile(3)]);
  await issue(deps, { profile: 'xm1quser0', name: 'Bot xm1q', description: 'xm1q '.repeat(30), expectedUsage: 'xm1q' });
  await importLines(deps, [markedProfile(2, 1)]);
  expect(filesOf(path)).toContain('xm1q');
  const stdin = jsonLines({ id: 2, deleted: true });
  expect((await profilectl(['profiles', 'import', '-', '--db', path], { stdin })).code).toBe(0);
  expect((await profilectl(['profiles', 'erase', 'xm1quser0', '--yes', '--db', path])).code).toBe(0);
  expect((await profilectl(['db', 'vacuum', '--db', path])).code).toBe(0);
  expect(filesOf(path)).not.toMatch(/xm[12]q/i);
  expect(filesOf(path)).toContain('xm3q');
  expect(await server.end()).toBe(0);
  expect(server.printed()).not.toMatch(/m[12]q/i);
});
