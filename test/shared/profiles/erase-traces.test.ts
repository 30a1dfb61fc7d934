import { expect, test } from 'bun:test';
import { existsSync, readFileSync } from 'node:fs';
import { openDatabase } from '../../../shared/db/open.ts';
import { eraseProfile } from '../../../shared/profiles/erase.ts';
import { onBox } from '../../support/actors.ts';
import { profilectl } from '../../support/cli.ts';
import { importLines, jsonLines } from '../../support/import.ts';
import { issue } from '../../support/keys.ts';
import { startServerProcess } from '../../support/server-process.ts';
import { testDeps } from '../../support/world.ts';

// Whoever is erased is gone from the files byte by byte. Each field of a profile holds the mark `<id>q`, in capitals too.

const NAMED = ['', '-wal', '-shm'];

function filesOf(path: string): string {
  return NAMED.map((suffix) => (existsSync(path + suffix) ? readFileSync(path + suffix, 'latin1') : '')).join('');
}

/** Sizes differ so that rows lie on shared pages, on overflow pages and in the middle of either. */
function person(id: number, round = 0) {
  const mark = `m${id}q`;
  return {
    id,
    username: `${mark}user${round}`,
    aliases: [`${mark}alias${round}`, `${mark}other`],
    authId: `auth0|${mark}${round}`,
    email: `${mark}${round}@example.org`,
    displayName: `${mark} ${round}`,
    customize: { bio: `${mark} `.repeat(((id * 37) % 400) * (id % 50 === 0 ? 10 : 1)) },
    links: [{ id: 'l', name: mark, link: `https://example.org/${mark}` }],
  };
}

test('a profile and its keys, erased, are in no byte of the database and its log', async () => {
  const deps = testDeps();
  const path = deps.config.databasePath;
  await importLines(deps, [person(1), person(2)]);
  await issue(deps, { profile: 'm1quser0', name: 'Bot m1q', description: 'm1q '.repeat(30), expectedUsage: 'm1q' });
  expect(filesOf(path)).toContain('m1q');
  expect(eraseProfile(deps, 'm1quser0', onBox('operator')).warning).toBeNull();
  expect(filesOf(path)).not.toMatch(/m1q/i);
  expect(filesOf(path)).toContain('m2q');
});

test('by import too, while a server has the database open, and through every command on the way', async () => {
  const deps = testDeps();
  const path = deps.config.databasePath;
  const server = await startServerProcess({ DATABASE_PATH: path });
  const put = (...lines: object[]) =>
    profilectl(['profiles', 'import', '-', '--db', path], { stdin: jsonLines(...lines) });
  await put(person(1), person(2));
  expect(filesOf(path)).toContain('m1q');
  expect(await put({ id: 1, deleted: true })).toMatchObject({ code: 0, stderr: '' });
  expect(filesOf(path)).not.toMatch(/m1q/i);
  const done = await profilectl(['profiles', 'erase', 'm2quser0', '--yes', '--db', path]);
  expect(done).toMatchObject({ code: 0, stderr: '' });
  expect(filesOf(path)).not.toMatch(/m2q/i);
  expect(await server.end()).toBe(0);
  expect(server.printed()).not.toMatch(/m[12]q/i);
});

test('among thousands that are replaced, changed and erased in every order, no trace of the erased ones stays', async () => {
  const deps = testDeps();
  const ids = Array.from({ length: 1500 }, (_, index) => index + 1);
  await importLines(
    deps,
    ids.map((id) => person(id)),
  );
  await importLines(
    deps,
    ids.filter((id) => id % 3 === 0).map((id) => person(id, 1)),
  );
  const changes = ids.filter((id) => id % 4 === 0).map((id) => ({ id, email: `m${id}q9@example.org`, aliases: [] }));
  await importLines(deps, changes, { merge: true });
  const erased = ids.filter((id) => (id * 7919) % 11 < 6).sort((a, b) => ((a * 31) % 97) - ((b * 31) % 97));
  await importLines(
    deps,
    erased.map((id) => ({ id, deleted: true })),
  );
  const found = new Set([...filesOf(deps.config.databasePath).matchAll(/m(\d+)q/gi)].map((match) => Number(match[1])));
  expect(erased.filter((id) => found.has(id))).toEqual([]);
  expect(found.size).toBe(ids.length - erased.length);
}, 60_000);

test('where a long reader keeps the log in use, it is said, and the log is emptied later', async () => {
  const deps = testDeps();
  const path = deps.config.databasePath;
  await importLines(deps, [person(1)]);
  const reader = openDatabase(path, 'use').$client;
  reader.run('BEGIN');
  reader.query('SELECT count(*) FROM profiles').get();
  expect(eraseProfile(deps, 'm1quser0', onBox('operator')).warning).toContain('write-ahead log');
  expect(filesOf(path)).toContain('m1q');
  reader.run('ROLLBACK');
  reader.close();
  deps.db.$client.run('PRAGMA wal_checkpoint(TRUNCATE)');
  expect(filesOf(path)).not.toMatch(/m1q/i);
});
