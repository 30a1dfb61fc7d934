import { describe, expect, test } from 'bun:test';
import { performAndSend } from '../../../cli/keys/context.ts';
import { DAY_MS } from '../../../shared/clock.ts';
import type { Permission } from '../../../shared/db/schema.ts';
import type { KeyChange } from '../../../shared/keys/fields.ts';
import { keyHistory, showKey } from '../../../shared/keys/view.ts';
import { sendDueMails } from '../../../shared/mail/delivery.ts';
import { OPERATIONS } from '../../../shared/operations.ts';
import { issue, mails, waitingWhile } from '../../support/keys.ts';
import { insertProfile } from '../../support/profiles.ts';
import { readingOf } from '../../support/storage.ts';
import { onBox, refusal, testClock, testDeps } from '../../support/world.ts';

const LIMIT = { quota: 60, windowSeconds: 60 };

/** A database with one Active key. */
async function world(variables: Record<string, string> = {}) {
  const clock = testClock();
  const deps = { ...testDeps({ variables }), clock };
  insertProfile(deps.db);
  const { identifier, secret } = await issue(deps, {}, { rateLimits: [LIMIT] });
  const change = (change: KeyChange, by = onBox('admin')) =>
    performAndSend({ deps, actor: by }, OPERATIONS.change, { identifier, ...change });
  /** The details of all changes in the history. */
  const changes = () =>
    keyHistory(deps, identifier).flatMap(({ event, detail }) => (event === 'changed' ? [detail?.changes] : []));
  return { clock, deps, identifier, secret, change, changes, ...readingOf(deps) };
}

test('only given values are changed, and the same secret works with the new grant at once', async () => {
  const { clock, deps, identifier, secret, verify, change, changes } = await world();
  expect(verify(secret)).toMatchObject({ permissions: ['api.lookup'], rateLimits: [LIMIT], expiresAt: null });
  const both: Permission[] = ['api.leaderboard', 'api.lookup'];
  await change({ permissions: both });
  expect(verify(secret)).toMatchObject({ permissions: ['api.lookup', 'api.leaderboard'], rateLimits: [LIMIT] });
  const rateLimits = [
    { quota: 5, windowSeconds: 60 },
    { quota: 7, windowSeconds: 3_600 },
  ];
  const expiresAtMs = clock.nowMs() + DAY_MS;
  await change({ rateLimits, expiresAtMs });
  expect(verify(secret)).toMatchObject({ rateLimits, expiresAt: expiresAtMs });
  await change({ expiresAtMs: null });
  expect(verify(secret)).toMatchObject({ rateLimits, expiresAt: null });
  expect(showKey(deps, identifier)).toMatchObject({ state: 'Active', rateLimits, expiresAt: null });
  const end = '2026-01-02T00:00:00.000Z';
  expect(changes()).toEqual([
    { permissions: { from: ['api.lookup'], to: ['api.lookup', 'api.leaderboard'] } },
    { rateLimits: { from: [LIMIT], to: rateLimits }, expiresAt: { from: null, to: end } },
    { expiresAt: { from: end, to: null } },
  ]);
  expect(keyHistory(deps, identifier).at(-1)).toMatchObject({ by: 'admin (on the box)', from: 'Active', to: 'Active' });
});

test('the owner is mailed the old and new values, without the secret', async () => {
  const { deps, change } = await world();
  expect(await change({ rateLimits: [{ quota: 600, windowSeconds: 60 }] })).toMatchObject({ warning: null });
  const mail = mails(deps).at(-1) ?? '';
  expect(mail).toContain('was changed');
  expect(mail).toMatch(/60\/1m[\s\S]*600\/1m/);
  expect(mail).not.toContain('plk_');
});

test('if the mail can’t be sent, the change stays, with a warning, and the mail is sent later', async () => {
  const { deps, identifier, change } = await world();
  const silent = { ...deps, mailer: async () => null };
  const outcome = await performAndSend({ deps: silent, actor: onBox('a') }, OPERATIONS.change, {
    identifier,
    permissions: ['api.leaderboard'],
  });
  expect(outcome.warning).toContain('MAIL_URL is not set');
  expect(showKey(deps, identifier).permissions).toEqual(['api.leaderboard']);
  expect(mails(deps).at(-1)).not.toContain('was changed');
  await sendDueMails(deps, () => undefined);
  expect(mails(deps).at(-1)).toMatch(/was changed[\s\S]*api\.lookup[\s\S]*api\.leaderboard/);
  expect(await change({ permissions: ['api.leaderboard'] })).toMatchObject({
    warning: expect.stringContaining('nothing was changed'),
  });
});

test('a change to the current values adds nothing to the history and sends no mail', async () => {
  const { deps, change, changes } = await world();
  const before = mails(deps).length;
  for (let turn = 0; turn < 2; turn++) {
    const { warning } = await change({ permissions: ['api.lookup'], rateLimits: [LIMIT], expiresAtMs: null });
    expect(warning).toContain('nothing was changed');
  }
  expect([changes(), mails(deps).length]).toEqual([[], before]);
});

describe('a change is refused and writes nothing', () => {
  test('if the key expires while the change waits for the write lock', async () => {
    const { clock, deps, identifier, change } = await world();
    await change({ expiresAtMs: clock.nowMs() + 1000 });
    const late = waitingWhile(deps, () => clock.advance(1000));
    const input = { identifier, expiresAtMs: null };
    const error = await refusal(performAndSend({ deps: late, actor: onBox('admin') }, OPERATIONS.change, input));
    expect(error.message).toContain('is expired');
    expect(showKey(deps, identifier).state).toBe('expired');
  });

  test('if the new expiry is in the past, or there is nothing to change', async () => {
    const { clock, change, changes } = await world();
    for (const wrong of [{ expiresAtMs: clock.nowMs() }, {}, { rateLimits: null }]) {
      expect((await refusal(change(wrong))).code).toBe('usage');
    }
    expect(changes()).toEqual([]);
  });
});

test('a changed expiry takes effect, whether it is earlier or later than the old one', async () => {
  const { clock, change, secret, verify } = await world();
  await change({ expiresAtMs: clock.nowMs() + 5000 });
  await change({ expiresAtMs: clock.nowMs() + 2000 });
  clock.advance(1999);
  expect(verify(secret)).not.toBeNull();
  await change({ expiresAtMs: clock.nowMs() + 5000 });
  clock.advance(4999);
  expect(verify(secret)).not.toBeNull();
  clock.advance(1);
  expect(verify(secret)).toBeNull();
});
