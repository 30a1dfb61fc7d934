import { Database } from 'bun:sqlite';
import { expect, test } from 'bun:test';
import { copyFileSync } from 'node:fs';
import { join } from 'node:path';
import { addAdmin } from '../../../shared/admins.ts';
import { profilectl } from '../../support/cli.ts';
import { changeByHand } from '../../support/profiles.ts';
import { onBox, tempFolder, testDeps } from '../../support/world.ts';
import { openTerminal, runCommand } from '../commands.ts';

// What `profilectl log` lists after real commands.

const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;

/** A restore needs a database that no other process has open, so its test starts processes. */
async function world() {
  const folder = tempFolder();
  const db = join(folder, 'profiles.db');
  const variables = {
    DATABASE_PATH: db,
    MAIL_URL: `file:${join(folder, 'mail')}`,
    PUBLIC_URL: 'http://localhost:3000',
  };
  const run = async (...words: string[]) => {
    const done = await runCommand(words, { variables });
    return { ...done, lines: done.stdout.trim().split('\n') };
  };
  const file = join(folder, 'profiles.jsonl');
  const ada = { id: 7, username: 'ada', email: 'ada@example.org' };
  await Bun.write(file, [ada, { id: 8, username: 'eve' }].map((line) => `${JSON.stringify(line)}\n`).join(''));
  const import_ = await run('profiles', 'import', file);
  expect(import_.code).toBe(0);
  return { folder, db, variables, run };
}

const REQUEST = ['keys', 'request', '--profile', 'ada', '--name', 'A secret name', '--permission', 'api.lookup'];

test('lists keys, admins, tokens, bans, erasures and restores, newest first, without any text that people wrote', async () => {
  const { folder, run } = await world();
  const about = 'It shows the badges of our members beside their names in the chat of ours, and keeps nothing.';
  const requested = await run(...REQUEST, '--description', about);
  const identifier = requested.stdout.slice(0, 8);
  const steps = [
    ['keys', 'approve', identifier, '--yes'],
    ['keys', 'change', identifier, '--rate-limit', '1/1m', '--yes'],
    ['keys', 'revoke', identifier, '--reason', 'A reason of theirs.', '--yes'],
    ['admins', 'add', 'Grace'],
    ['tokens', 'add', 'backend', '--right', 'profiles'],
    ['profiles', 'ban', 'ada'],
    ['profiles', 'unban', 'ada'],
    ['profiles', 'erase', 'eve', '--yes'],
    ['db', 'backup', join(folder, 'backup.db')],
  ];
  for (const step of steps) expect([step, (await run(...step)).code]).toEqual([step, 0]);
  // Another file, because commands in this process may still have the database open.
  const db = join(folder, 'restored.db');
  copyFileSync(join(folder, 'backup.db'), db);
  const restored = await profilectl(['db', 'restore', join(folder, 'backup.db'), '--yes', '--db', db]);
  expect(restored.code).toBe(0);
  const { code, lines, stdout, stderr } = await run('log', '--db', db);
  expect([code, stderr]).toEqual([0, '']);
  expect(lines[0]).toMatch(/^When \(UTC\) +Who +What$/);
  const texts = lines
    .slice(1)
    .map((line) => /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d {2}\S+ \(on the box\) {2}(.*)$/.exec(line)?.[1]);
  const token = /the token (\w{8})/.exec(stdout)?.[1] as string;
  expect(texts).toEqual([
    'Restored the database from a backup',
    'Erased the profile with UID 8',
    'Lifted the ban of the profile with UID 7',
    'Banned the profile with UID 7',
    `Added the token ${token} of the backend backend, which may use profiles`,
    'Added admin Grace',
    `Revoked key ${identifier}`,
    `Changed key ${identifier}: 60/1m, 5000/1d → 1/1m`,
    `Approved key ${identifier}`,
    `Requested key ${identifier}`,
  ]);
  const { entries, next } = JSON.parse((await run('log', '--json', '--db', db)).stdout);
  expect(next).toBeNull();
  expect(entries.map(({ kind }: { kind: string }) => kind)).toEqual([
    ...['database-restored', 'profile-erased', 'profile-unbanned', 'profile-banned', 'token-added', 'admin-added'],
    ...['key-revoked', 'key-changed', 'key-approved', 'key-requested'],
  ]);
  const by = expect.stringMatching(/ \(on the box\)$/);
  const at = expect.stringMatching(TIME);
  expect([entries[1], entries[4], entries[9]]).toEqual([
    { at, by, kind: 'profile-erased', identifier: null, profile: 8 },
    { at, by, kind: 'token-added', identifier: token, profile: null },
    { at, by, kind: 'key-requested', identifier, profile: 7 },
  ]);
  const all = stdout + JSON.stringify(entries);
  for (const theirs of ['A secret name', 'A reason', 'badges', 'ada', 'example.org']) expect(all).not.toContain(theirs);
});

test('filters by person, kind and time, and lists page by page', async () => {
  const { variables, run } = await world();
  const access = testDeps({ variables });
  for (const name of ['Grace', 'Hopper', 'Ada']) addAdmin(access, name, onBox('operator'));
  changeByHand(access, 'ada', { banned: true });
  const texts = async (...words: string[]) =>
    (await run('log', ...words)).lines.slice(1).map((line) => line.split('  ').at(-1));
  expect(await texts('--kind', 'admins')).toEqual(['Added admin Ada', 'Added admin Hopper', 'Added admin Grace']);
  expect(await texts('--kind', 'bans', '--kind', 'admin-added', '--since', '1h', '--by', 'operator')).toHaveLength(4);
  const first = await run('log', '--limit', '1', '--kind', 'admins');
  const [, after = ''] =
    /^\nNext page: profilectl log --kind admins --limit 1 --after (\S+)\n$/.exec(first.stderr) ?? [];
  expect(first.lines).toHaveLength(2);
  expect(await texts('--limit', '1', '--kind', 'admins', '--after', after)).toEqual(['Added admin Hopper']);
  const { next } = JSON.parse((await run('log', '--limit', '1', '--kind', 'admins', '--json')).stdout);
  expect(next).toBe(after);
});

test('prints 50 entries at a time on a terminal, and the command for the next page', async () => {
  const { db, variables } = await world();
  const sqlite = new Database(db);
  sqlite.run(
    `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 51)
       INSERT INTO events (at, by, by_kind, subject, event) SELECT i, 'root', 'operator', 'database', 'restored' FROM n`,
  );
  sqlite.close();
  const terminal = openTerminal(['log'], variables, undefined, 40);
  expect(await terminal.exited).toBe(0);
  expect(terminal.screen().match(/Restored the database from a backup/g)).toHaveLength(50);
  expect(terminal.screen()).toContain('Next page: profilectl log --after 2');
});
