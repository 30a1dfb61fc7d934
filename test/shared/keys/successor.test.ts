import { describe, expect, test } from 'bun:test';
import { DAY_MS } from '../../../shared/clock.ts';
import { KEY_STATES } from '../../../shared/db/schema.ts';
import type { Deps } from '../../../shared/deps.ts';
import type { Grant } from '../../../shared/keys/fields.ts';
import { prefillFrom } from '../../../shared/keys/grant.ts';
import { changeKey, moveAndNotify } from '../../../shared/keys/life.ts';
import { keyHistory, showKey } from '../../../shared/keys/view.ts';
import { sendDueMails } from '../../../shared/mail/delivery.ts';
import { OPERATIONS, perform } from '../../../shared/operations.ts';
import { approveKey, issue, keyIn, mailedSecrets, mails, request } from '../../support/keys.ts';
import { eraseProfile, insertProfile } from '../../support/profiles.ts';
import { readingOf } from '../../support/storage.ts';
import { onBox, refusal, testClock, testDeps } from '../../support/world.ts';

/** A database with an Active key, and functions that request its successor and approve that. */
async function world(grant: Grant = {}) {
  const clock = testClock();
  const deps = { ...testDeps({ variables: { ADMIN_EMAIL: 'admin@example.org' } }), clock };
  insertProfile(deps.db, { id: 1 });
  insertProfile(deps.db, { id: 2 });
  const old = await issue(deps, { name: 'Old' }, grant);
  const succeed = () => request(deps, { ...prefillFrom(showKey(deps, old.identifier)), successorOf: old.identifier });
  const approve = (identifier: string, granted: Grant, by: Deps = deps) =>
    approveKey(by, { identifier, grant: granted, by: onBox('admin') });
  const endOf = (identifier: string) => showKey(deps, identifier).expiresAt;
  const lastMail = () => (mails(deps).at(-1) ?? '').replace(/=\r?\n/g, '').replace(/\s+/g, ' ');
  return { clock, deps, old, succeed, approve, endOf, lastMail, ...readingOf(deps) };
}

const inDays = (deps: Deps, days: number) => deps.clock.nowMs() + days * DAY_MS;
const iso = (ms: number) => new Date(ms).toISOString();

test('a request for a successor is prefilled from the old key, including its granted permissions, and names that key', async () => {
  const { deps, clock, old, succeed, lastMail } = await world({ permissions: ['api.leaderboard'] });
  const identifier = await succeed();
  clock.advance(60_000);
  await sendDueMails(deps, () => undefined);
  expect(lastMail()).toContain(`Replaces ${old.identifier}`);
  expect(showKey(deps, identifier)).toMatchObject({
    successorOf: old.identifier,
    profile: 'user1',
    name: 'Old',
    description: showKey(deps, old.identifier).description,
    requestedPermissions: ['api.leaderboard'],
    state: 'pending',
  });
  expect(keyHistory(deps, identifier)[0]?.detail).toEqual({ successorOf: old.identifier });
  expect(showKey(deps, old.identifier)).toMatchObject({ successorOf: null, state: 'Active' });
});

test('a successor uses one of the three slots', async () => {
  const { deps, succeed } = await world();
  await succeed();
  await succeed();
  expect((await refusal(succeed())).message).toContain('has 3 keys already');
  expect(deps.db.$client.query('SELECT count(*) AS n FROM api_keys').get()).toEqual({ n: 3 });
});

describe('a successor is refused', () => {
  for (const state of KEY_STATES.filter((one) => one !== 'Active')) {
    test(`for a key that is ${state}`, async () => {
      const { deps } = await world();
      const other = await keyIn(state, deps, 'user2');
      const error = await refusal(request(deps, { profile: 'user2', successorOf: other }));
      expect([error.code, error.message.slice(0, 24)]).toEqual([
        'refused',
        `Key ${other} is ${state}; only`.slice(0, 24),
      ]);
      await expect(async () => prefillFrom(showKey(deps, other))).toThrow(error.message);
    });
  }

  test('for a key of another profile, which owners can’t tell from an unknown one', async () => {
    const { deps, old } = await world();
    const asked = refusal(request(deps, { profile: 'user2', successorOf: old.identifier }));
    expect((await asked).message).toContain('does not belong to the profile');
    const owner = { kind: 'owner', name: 'owner', profileId: 2 } as const;
    const input = { ...prefillFrom(showKey(deps, old.identifier)), profile: 'user2' };
    const ask = (successorOf: string) =>
      refusal(() => perform(deps, owner, OPERATIONS.request, { ...input, successorOf }));
    const [others, nobodys] = [await ask(old.identifier), await ask('00000000')];
    expect([others.code, others.message]).toEqual([nobodys.code, nobodys.message]);
    expect(others.code).toBe('not_found');
  });
});

describe('at the approval', () => {
  test('a successor gets the current rate limits of the old key, unless others are given', async () => {
    const { deps, old, succeed, approve } = await world();
    const rateLimits = [{ quota: 600, windowSeconds: 60 }];
    changeKey(deps, { identifier: old.identifier, change: { rateLimits }, by: onBox('admin') });
    const identifier = await succeed();
    await approve(identifier, {});
    expect(showKey(deps, identifier).rateLimits).toEqual(rateLimits);
    const other = await succeed();
    await approve(other, { rateLimits: [{ quota: 7, windowSeconds: 1 }] });
    expect(showKey(deps, other).rateLimits).toEqual([{ quota: 7, windowSeconds: 1 }]);
  });

  test('the old key gets its expiry in the same transaction; until then both work; both histories and the mail say so', async () => {
    const { clock, deps, old, succeed, approve, endOf, verify, lastMail } = await world();
    const identifier = await succeed();
    const retireOldAtMs = inDays(deps, 7);
    await approve(identifier, { retireOldAtMs });
    expect(lastMail()).toContain(
      `This key replaces your key ${old.identifier}. Both keys work until 2026-01-08 00:00:00 UTC`,
    );
    expect(endOf(old.identifier)).toBe(iso(retireOldAtMs));
    expect(endOf(identifier)).toBeNull();
    expect(keyHistory(deps, identifier).at(-1)?.detail).toEqual({ attempt: 1, retiresOldAt: iso(retireOldAtMs) });
    expect(keyHistory(deps, old.identifier).at(-1)).toMatchObject({
      event: 'changed',
      by: 'admin (on the box)',
      detail: { changes: { expiresAt: { from: null, to: iso(retireOldAtMs) } }, successor: identifier },
    });
    const secrets = [old.secret, mailedSecrets(deps, identifier)[0] ?? ''];
    expect(secrets.map((secret) => verify(secret) !== null)).toEqual([true, true]);
    clock.advance(7 * DAY_MS);
    expect(secrets.map((secret) => verify(secret) !== null)).toEqual([false, true]);
  });

  test('the earlier expiry wins, and an old key that expires earlier anyway is not changed', async () => {
    const { deps, old, succeed, approve, endOf, lastMail } = await world({
      expiresAtMs: Date.parse('2026-01-04T00:00:00Z'),
    });
    const identifier = await succeed();
    await approve(identifier, { retireOldAtMs: inDays(deps, 7) });
    expect(lastMail()).toContain('Both keys work until 2026-01-04 00:00:00 UTC');
    expect(endOf(old.identifier)).toBe('2026-01-04T00:00:00.000Z');
    expect(keyHistory(deps, old.identifier).map(({ event }) => event)).not.toContain('changed');
    expect(keyHistory(deps, identifier).at(-1)?.detail).toEqual({ attempt: 1 });
  });

  test('without a given expiry, the old key stays as it is', async () => {
    const { old, succeed, approve, endOf, lastMail } = await world();
    await approve(await succeed(), {});
    expect(endOf(old.identifier)).toBeNull();
    expect(lastMail()).toContain('Both keys work. Give your program the secret of');
  });

  test('an expiry of the old key is refused if it is in the past or there is no old key', async () => {
    const { deps, succeed, approve } = await world();
    const [successor, other] = [await succeed(), await request(deps)];
    expect((await refusal(approve(successor, { retireOldAtMs: deps.clock.nowMs() }))).code).toBe('usage');
    const error = await refusal(approve(other, { retireOldAtMs: inDays(deps, 7) }));
    expect([error.code, error.message]).toEqual([
      'usage',
      `Key ${other} does not replace another key, so there is no old key to retire.`,
    ]);
    expect(keyHistory(deps, other).map(({ event }) => event)).toEqual(['requested']);
  });

  test('an old key that was revoked in between stays revoked, and the successor is approved', async () => {
    const { deps, old, succeed, approve, lastMail } = await world();
    const identifier = await succeed();
    await moveAndNotify(deps, 'revoke', { identifier: old.identifier, reason: 'Leaked.', by: onBox('admin') });
    await approve(identifier, { retireOldAtMs: inDays(deps, 7) });
    expect(lastMail()).toContain(`Key ${old.identifier} no longer works.`);
    expect(showKey(deps, identifier).state).toBe('Active');
    expect(keyHistory(deps, old.identifier).at(-1)?.event).toBe('revoked');
  });

  for (const outcome of ['refused', 'unknown'] as const) {
    test(`the old key stays as it was if the mail was ${outcome}`, async () => {
      const { deps, old, succeed, approve, endOf } = await world();
      const identifier = await succeed();
      const delivery = { outcome, permanent: true, reason: 'No.' } as const;
      const mailer = async () => ({ send: async () => delivery });
      await refusal(approve(identifier, { retireOldAtMs: inDays(deps, 7) }, { ...deps, mailer }));
      expect(showKey(deps, identifier).state).toBe('pending');
      expect(endOf(old.identifier)).toBeNull();
      expect(keyHistory(deps, old.identifier).at(-1)?.event).toBe('approved');
    });
  }

  test('the old key stays as it was if the successor can’t be stored, although the mail was sent', async () => {
    const { deps, old, succeed, approve, endOf } = await world();
    const identifier = await succeed();
    const { $client } = deps.db;
    $client.run(`CREATE TEMP TRIGGER broken BEFORE UPDATE ON api_keys WHEN new.state = 'Active' AND old.state = 'pending'
      BEGIN SELECT RAISE(ABORT, 'broken'); END`);
    await refusal(approve(identifier, { retireOldAtMs: inDays(deps, 7) }));
    expect(mailedSecrets(deps, identifier)).toHaveLength(1);
    expect([showKey(deps, identifier).state, endOf(old.identifier)]).toEqual(['pending', null]);
    expect(keyHistory(deps, old.identifier).at(-1)?.event).toBe('approved');
  });

  test('if the old key’s expiry is changed while the mail is being sent, the earlier one wins', async () => {
    const { deps, old, succeed, approve, endOf } = await world();
    const identifier = await succeed();
    const mailer = async () => ({
      send: async () => {
        const change = { expiresAtMs: inDays(deps, 3) };
        changeKey(deps, { identifier: old.identifier, change, by: onBox('admin') });
        return { outcome: 'accepted' } as const;
      },
    });
    await approve(identifier, { retireOldAtMs: inDays(deps, 7) }, { ...deps, mailer });
    expect(endOf(old.identifier)).toBe(iso(inDays(deps, 3)));
  });
});

test('erasing the profile ends both; successorOf stays', async () => {
  const { deps, old, succeed } = await world();
  const identifier = await succeed();
  const change = { permissions: ['api.leaderboard' as const] };
  changeKey(deps, { identifier: old.identifier, change, by: onBox('admin') });
  eraseProfile(deps, 'user1', onBox('admin'));
  expect(showKey(deps, identifier)).toMatchObject({ state: 'withdrawn', successorOf: old.identifier, name: '' });
  // The events stay in the histories, without the old and new values.
  const entries = [identifier, old.identifier].flatMap((one) => keyHistory(deps, one));
  expect(entries.map(({ event }) => event)).toContain('changed');
  expect(entries.every(({ detail }) => detail === null)).toBe(true);
});
