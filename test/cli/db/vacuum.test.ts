import { expect, test } from 'bun:test';
import { writeFileSync } from 'node:fs';
import { systemClock } from '../../../shared/clock.ts';
import { lockForVacuum } from '../../../shared/db-files/import-lock.ts';
import { onBox } from '../../support/actors.ts';
import { profilectl } from '../../support/cli.ts';
import { eraseProfile } from '../../support/erase.ts';
import { issue } from '../../support/keys.ts';
import { insertProfile } from '../../support/profiles.ts';
import { testDeps } from '../../support/world.ts';

/** A database with a profile with a key, and an erased profile. */
async function world() {
  const deps = testDeps({ clock: systemClock });
  for (const id of [1, 2]) insertProfile(deps.db, { id });
  await issue(deps);
  eraseProfile(deps, 'user2', onBox('operator'));
  const db = deps.config.databasePath;
  const run = (...words: string[]) => profilectl([...words, '--db', db]);
  const status = async () => JSON.parse((await run('status', '--json')).stdout);
  return { deps, db, run, status };
}

test('db vacuum reports sizes and duration, and status reports since when erased text may remain', async () => {
  const { run, status } = await world();
  const before = await status();
  const sinceMs = systemClock.nowMs() - Date.parse(before.erasure.tracesSince);
  expect(sinceMs).toBeGreaterThanOrEqual(0);
  expect(sinceMs).toBeLessThan(3_600_000);
  expect(before.erasure).toMatchObject({ vacuumedAt: null, keptCopies: [], mailFolder: null });
  expect((await run('status')).stdout).toContain(
    `erased text may be left in the file since ${before.erasure.tracesSince}, until it is vacuumed`,
  );
  expect(await run('db', 'vacuum')).toEqual({
    code: 0,
    stdout: expect.stringMatching(/^Vacuumed from .+ to .+ in \d+\.\d s; no erased text is left in the file\.\n$/),
    stderr: '',
  });
  expect((await status()).erasure).toMatchObject({ tracesSince: null, vacuumedAt: expect.any(String) });
  expect((await run('status')).stdout).toMatch(/^Erasures +no erased text is left in the file, vacuumed \d+s ago$/m);
  const { stdout } = await run('db', 'vacuum', '--json');
  expect(JSON.parse(stdout)).toEqual({
    milliseconds: expect.any(Number),
    bytesBefore: expect.any(Number),
    bytesAfter: expect.any(Number),
  });
});

test('status warns if erased text may have remained for more than a day', async () => {
  const { deps, status } = await world();
  deps.db.$client.run('UPDATE erasures SET at = at - 86400000');
  expect((await status()).warnings.join()).toContain('"profilectl db vacuum" removes it');
});

test('status names the files in which erased text may remain', async () => {
  const { db, run } = await world();
  const kept = ['before-restore-20260101T000000.000Z', 'before-schema-3-20260101T000000.000Z'].map(
    (of) => `${db}.${of}`,
  );
  for (const file of kept) writeFileSync(file, '', { mode: 0o600 });
  const variables = { MAIL_URL: 'file:/tmp/mails of ours' };
  const found = JSON.parse((await profilectl(['status', '--json', '--db', db], { variables })).stdout).erasure;
  expect(found).toMatchObject({ keptCopies: kept, mailFolder: '/tmp/mails of ours' });
  const [line = ''] = /^Elsewhere .*$/m.exec((await profilectl(['status', '--db', db], { variables })).stdout) ?? [];
  for (const name of [...kept, 'mails in /tmp/mails of ours', 'backups', 'rejected lines', 'logs']) {
    expect(line).toContain(name);
  }
  expect((await run('status')).stdout).toMatch(/^Elsewhere .*sent mails/m);
});

test('db vacuum refuses while another vacuum is running (exit code 75)', async () => {
  const { db, run, status } = await world();
  const lock = lockForVacuum(db, 0);
  const done = await run('db', 'vacuum');
  expect(done).toEqual({ code: 75, stdout: '', stderr: expect.stringContaining('try again when it is finished') });
  expect((await status()).erasure.tracesSince).not.toBeNull();
  lock.close();
  expect((await run('db', 'vacuum')).code).toBe(0);
});
