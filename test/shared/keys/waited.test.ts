import { beforeEach, expect, test } from 'bun:test';
import { APPROVAL_LEASE_MS } from '../../../shared/deps.ts';
import { SECRET_HOLDERS } from '../../../shared/keys/key.ts';
import { moveAndNotify, requestKey } from '../../../shared/keys/life.ts';
import { showKey } from '../../../shared/keys/view.ts';
import { joinWords } from '../../../shared/text.ts';
import { approveKey, DESCRIPTION, issue, mails, request } from '../../support/keys.ts';
import { insertProfile } from '../../support/profiles.ts';
import { onBox, refusal, testClock, testDeps } from '../../support/world.ts';

// Changing a key may have to wait for the write lock, for example during an import. Rules about time then apply as of the moment
// at which the lock is acquired, not when the command began.

const WAIT_MS = 2_000;

const clock = testClock();
const deps = testDeps({ clock });
const nowMs = () => clock.nowMs() + (deps.db.$client.inTransaction ? WAIT_MS : 0);
/** The same, but inside a transaction it is later, as after a lock. */
const late = { ...deps, clock: { ...clock, nowMs } };
let profile = '';
let nextId = 1;

beforeEach(() => {
  profile = `user${nextId}`;
  insertProfile(deps.db, { id: nextId++ });
});

/** A key that has expired by the time the lock is acquired. */
const expiring = () => issue(deps, { profile }, { expiresAtMs: clock.nowMs() + WAIT_MS });

const newRequest = () => ({
  profile,
  name: 'Bot',
  description: DESCRIPTION,
  permissions: ['api.lookup'] as const,
  by: onBox('owner'),
});

test('a key that expires while its revocation waits for the lock is not revoked, and nobody is mailed', async () => {
  const { identifier } = await expiring();
  const before = mails(deps).length;
  const error = await refusal(() =>
    moveAndNotify(late, 'revoke', { identifier, reason: 'Leaked.', by: onBox('admin') }),
  );
  expect(error.message).toBe(
    `Key ${identifier} is expired; only ${joinWords(SECRET_HOLDERS, 'and')} keys can be revoked.`,
  );
  expect(deps.db.$client.query('SELECT * FROM mails WHERE identifier = ?').all(identifier)).toEqual([]);
  expect(mails(deps)).toHaveLength(before);
});

test('a slot that is freed while a request waits for the lock can be used', async () => {
  await request(deps, { profile });
  await request(deps, { profile });
  await expiring();
  const { identifier } = requestKey(late, { ...newRequest(), permissions: ['api.lookup'] });
  expect(showKey(deps, identifier).state).toBe('pending');
});

test('a successor is refused if the old key expires while the request waits for the lock', async () => {
  const { identifier: old } = await expiring();
  const asked = { ...newRequest(), permissions: ['api.lookup' as const], successorOf: old };
  const error = await refusal(() => requestKey(late, asked));
  expect(error.message).toContain(`Key ${old} is expired; only an Active key can be replaced.`);
});

test('an expiry that may pass before the secret is delivered is refused, and no mail is sent', async () => {
  const identifier = await request(deps, { profile });
  const before = mails(deps).length;
  const approve = (by: typeof deps, expiresAtMs: number) =>
    approveKey(by, { identifier, grant: { expiresAtMs }, by: onBox('admin') });
  for (const [by, ms] of [
    [deps, 3_000],
    [deps, APPROVAL_LEASE_MS],
    [late, APPROVAL_LEASE_MS + WAIT_MS],
  ] as const) {
    const error = await refusal(approve(by, clock.nowMs() + ms));
    expect([error.code, error.message]).toEqual([
      'usage',
      'The expiry must be more than 120 s in the future: delivering the secret may take that long.',
    ]);
  }
  expect([showKey(deps, identifier).attempt, mails(deps).length]).toEqual([null, before]);
  await approve(late, clock.nowMs() + APPROVAL_LEASE_MS + WAIT_MS + 1);
  expect(showKey(deps, identifier).state).toBe('Active');
});

test('a second approval that has waited for the lock is refused, and does not disturb the first', async () => {
  const identifier = await request(deps, { profile });
  const attempt = Promise.withResolvers<void>();
  const mailer = await deps.mailer();
  if (mailer === null) throw new Error('no mailer');
  const slow = { ...mailer, send: (mail: never) => attempt.promise.then(() => mailer.send(mail)) };
  const nowMs = () => clock.nowMs() + WAIT_MS;
  const quick = { ...deps, clock: { ...clock, nowMs }, mailer: async () => slow as typeof mailer };
  const first = approveKey(quick, approval(identifier));
  // The second approval began to wait before the first attempt began, and acquires the lock afterwards.
  const error = await refusal(approveKey(late, approval(identifier)));
  expect([error.code, error.message]).toEqual(['try_later', expect.stringContaining('has been approving key')]);
  attempt.resolve();
  await first;
  expect(showKey(deps, identifier)).toMatchObject({ state: 'Active', attempt: { number: 1 } });
});

function approval(identifier: string) {
  return { identifier, grant: {}, by: onBox('admin') };
}
