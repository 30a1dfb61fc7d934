import { beforeEach, describe, expect, test } from 'bun:test';
import { keysText, keyText } from '../../../cli/keys/print.ts';
import { moveAndNotify } from '../../../shared/keys/life.ts';
import type { Verifier } from '../../../shared/keys/verify.ts';
import { keyHistory, showKey } from '../../../shared/keys/view.ts';
import { detailText } from '../../../shared/log.ts';
import { sendDueMails } from '../../../shared/mail/delivery.ts';
import { createMailer } from '../../../shared/mail/send.ts';
import { policyOf } from '../../../shared/profiles/import/feed-policy.ts';
import type { ImportOptions } from '../../../shared/profiles/import/import.ts';
import { approveKey, keyIn, keysListed, request } from '../../support/keys.ts';
import { type ReceivedMail, startSmtp } from '../../support/mail.ts';
import { addBackend } from '../../support/people.ts';
import { changeByHand, eraseProfile, importLines } from '../../support/profiles.ts';
import { readingOf } from '../../support/storage.ts';
import { onBox, refusal, testClock, testDeps } from '../../support/world.ts';
import { serverAt } from '../mail/sample.ts';

const ADA = { id: 7, username: 'Ada', email: 'ada@example.org' };
const EVE = { id: 8, username: 'Eve', email: 'eve@example.org' };
const BANNED = { ...ADA, banned: true };
const UNBANNED = { ...ADA, banned: false };

const smtp = await startSmtp();
const variables = { MAIL_URL: smtp.url, MAIL_FROM: 'keys@example.net' };
let clock = testClock();
let deps = testDeps({ clock, variables });
let verify: Verifier;

beforeEach(async () => {
  clock = testClock();
  deps = testDeps({ clock, variables });
  await importLines(deps, [ADA, EVE]);
  verify = readingOf(deps).verify;
  smtp.received.length = 0;
});

const SECRET = /plk_[0-9A-Za-z]{8}_[0-9A-Za-z]{38}/;
const secretIn = ({ raw }: ReceivedMail) => SECRET.exec(raw.replaceAll('=\r\n', ''))?.[0] ?? '';

/** An Active key of a profile, and its secret. */
async function issue(profile = 'Ada', grant: Parameters<typeof approveKey>[1]['grant'] = {}) {
  const identifier = await request(deps, { profile });
  await approveKey({ ...deps, approvalLeaseMs: 0 }, { identifier, grant, by: onBox('admin') });
  return { identifier, secret: secretIn(smtp.received.at(-1) as ReceivedMail) };
}

/** Sends the mails that are due, and returns their recipients and subjects. */
async function sentMails(): Promise<string[]> {
  const before = smtp.received.length;
  await sendDueMails(deps, () => undefined);
  return smtp.received
    .slice(before)
    .map(({ to, raw }) => `${to[0]}: ${/^Subject: (.*(?:\r\n .*)*)\r$/m.exec(raw)?.[1]?.replace(/\r\n /g, ' ')}`);
}

const ban = () => void changeByHand(deps, 'ada', { banned: true });
const unban = () => void changeByHand(deps, 'ada', { banned: false });

const byBackend = (): Partial<ImportOptions> => ({
  by: { kind: 'backend', name: 'backend' },
  policy: policyOf({ identifier: addBackend(deps).identifier, excludesContactFields: false }),
});

describe('keys stop working when their profile is banned, work again once it is unbanned, and history records both, without a mail', () => {
  for (const [how, startBan, endBan, by] of [
    ['a command', async () => ban(), async () => unban(), 'operator (on the box)'],
    ['an import', () => importLines(deps, [BANNED]), () => importLines(deps, [UNBANNED]), 'operator (on the box)'],
    [
      'an import that merges',
      () => importLines(deps, [{ id: 7, banned: true }], { merge: true }),
      () => importLines(deps, [{ id: 7, banned: false }], { merge: true }),
      'operator (on the box)',
    ],
    [
      'a strict import',
      () => importLines(deps, [EVE, BANNED], { strict: true }),
      () => importLines(deps, [EVE, UNBANNED], { strict: true }),
      'operator (on the box)',
    ],
    [
      'lines sent by a backend',
      () => importLines(deps, [BANNED], byBackend()),
      () => importLines(deps, [UNBANNED], byBackend()),
      'backend backend',
    ],
  ] satisfies [string, () => Promise<unknown>, () => Promise<unknown>, string][]) {
    test(`by ${how}`, async () => {
      const { identifier, secret } = await issue();
      const other = await issue('Eve');
      expect(verify(secret)?.identifier).toBe(identifier);
      clock.advance(1000);
      await startBan();
      expect([verify(secret), verify(other.secret)?.identifier]).toEqual([null, other.identifier]);
      expect(showKey(deps, identifier)).toMatchObject({ state: 'Active', refusedFor: 'ban' });
      expect(keyHistory(deps, identifier).at(-1)).toEqual({
        at: '2026-01-01T00:00:01.000Z',
        by,
        event: 'profile banned',
        from: 'Active',
        to: 'Active',
        detail: null,
      });
      expect(await sentMails()).toEqual([]);
      clock.advance(1000);
      await endBan();
      expect(verify(secret)?.identifier).toBe(identifier);
      expect(showKey(deps, identifier)).toMatchObject({ state: 'Active', refusedFor: null });
      expect(keyHistory(deps, identifier).at(-1)).toMatchObject({ by, event: 'profile unbanned', to: 'Active' });
      expect(keyHistory(deps, other.identifier)).toHaveLength(3);
    });
  }
});

test('a ban by plain SQL stops the keys too', async () => {
  const { identifier, secret } = await issue();
  expect(verify(secret)).not.toBeNull();
  deps.db.$client.run("UPDATE profiles SET profile = json_set(profile, '$.banned', json('true')) WHERE id = 7");
  expect(verify(secret)).toBeNull();
  expect(showKey(deps, identifier).refusedFor).toBe('ban');
});

describe('while a profile is banned', () => {
  test('its keys keep their states and slots, and expire as usual', async () => {
    const expiring = await issue('Ada', { expiresAtMs: clock.nowMs() + 5_000 });
    const pending = await request(deps, { profile: 'Ada' });
    const revoked = await keyIn('revoked', { ...deps, clock }, 'Ada');
    ban();
    const states = async () => keysListed(deps, { profile: 'Ada' }).map((key) => [key.state, key.refusedFor]);
    expect(await states()).toEqual([
      ['pending', null],
      ['Active', 'ban'],
      ['revoked', null],
    ]);
    expect(keyHistory(deps, pending).at(-1)).toMatchObject({ event: 'profile banned', from: 'pending', to: 'pending' });
    expect(keyHistory(deps, revoked).at(-1)).toMatchObject({ event: 'revoked' });
    clock.advance(5_000);
    expect(showKey(deps, expiring.identifier)).toMatchObject({ state: 'expired', refusedFor: null });
    unban();
    expect(verify(expiring.secret)).toBeNull();
    expect(keyHistory(deps, pending).at(-1)).toMatchObject({ event: 'profile unbanned' });
  });

  test('a revoked key never works again, and the key of an erased profile is not shown as banned', async () => {
    const first = await issue();
    const second = await issue();
    ban();
    moveAndNotify(deps, 'revoke', { identifier: first.identifier, reason: 'Abuse.', by: onBox('admin') });
    unban();
    expect([verify(first.secret), verify(second.secret)?.identifier]).toEqual([null, second.identifier]);
    ban();
    eraseProfile(deps, 'Ada', onBox('root'));
    expect(showKey(deps, second.identifier)).toMatchObject({ state: 'revoked', refusedFor: null });
  });

  test('keys show and keys list say that the key is refused', async () => {
    const { identifier } = await issue();
    ban();
    const key = showKey(deps, identifier);
    expect(keyText(key, 100)).toContain('State           Active (refused: its profile is banned)\n');
    expect(keysText([key], clock.nowMs())).toContain('Active (banned)');
  });
});

test('a ban while the secret is being mailed voids the approval: the key stays pending, and that secret never works', async () => {
  const identifier = await request(deps, { profile: 'Ada' });
  const slow = await startSmtp({ onMessage: ban });
  const mailing = { ...deps, mailer: async () => createMailer(serverAt(slow.port), 'keys@example.net') };
  const error = await refusal(approveKey(mailing, { identifier, grant: {}, by: onBox('admin') }));
  expect([error.code, error.message]).toEqual([
    'refused',
    `While the mail was on its way, the profile Ada was banned: the secret in that mail will never work. Key ${identifier} is now pending; see "profilectl keys show ${identifier}".`,
  ]);
  expect(showKey(deps, identifier)).toMatchObject({ state: 'pending', attempt: { number: 1, result: 'voided' } });
  const entry = keyHistory(deps, identifier).at(-1);
  expect(entry).toMatchObject({ event: 'profile banned', detail: { attempt: 1 } });
  expect(detailText(entry as NonNullable<typeof entry>)).toBe('the approval under way was voided');
  unban();
  await approveKey(deps, { identifier, grant: {}, by: onBox('admin') });
  const [voided, mailed] = [slow.received.at(-1), smtp.received.at(-1)].map((mail) => secretIn(mail as ReceivedMail));
  expect([verify(voided as string), verify(mailed as string)?.identifier]).toEqual([null, identifier]);
});
