import { beforeEach, describe, expect, test } from 'bun:test';
import { DAY_MS } from '../../../shared/clock.ts';
import { AppError } from '../../../shared/errors.ts';
import { moveAndNotify } from '../../../shared/keys/life.ts';
import { keyHistory, showKey } from '../../../shared/keys/view.ts';
import { dropOldMails, sendDueMails } from '../../../shared/mail/delivery.ts';
import { createMailer } from '../../../shared/mail/send.ts';
import { approveKey, request } from '../../support/keys.ts';
import { startSmtp } from '../../support/mail.ts';
import { changeByHand, eraseProfile, importLines } from '../../support/profiles.ts';
import { onBox, refusal, testClock, testDeps } from '../../support/world.ts';
import { serverAt } from '../mail/sample.ts';

const ADA = { id: 7, username: 'Ada', email: 'ada@example.org' };
const EVE = { id: 8, username: 'Eve', email: 'eve@example.org' };
const NEW = { ...ADA, email: 'new@example.org' };

const smtp = await startSmtp();
const variables = { MAIL_URL: smtp.url, MAIL_FROM: 'keys@example.net' };
let clock = testClock();
let deps = testDeps({ clock, variables });

beforeEach(async () => {
  clock = testClock();
  deps = testDeps({ clock, variables });
  smtp.received.length = 0;
  await importLines(deps, [ADA, EVE]);
});

/** Sends the mails that are due, and returns their recipients and subjects. */
async function sentMails(): Promise<string[]> {
  const before = smtp.received.length;
  dropOldMails(deps.db, clock.nowMs(), () => undefined);
  await sendDueMails(deps, () => undefined);
  return smtp.received.slice(before).map(({ to, raw }) => `${to[0]}: ${/^Subject: (.*)\r$/m.exec(raw)?.[1]}`);
}

const stored = () => JSON.stringify(deps.db.$client.query('SELECT * FROM mails').all());
const SUBJECT = 'The e-mail address of your profile was changed';

describe('the former address', () => {
  for (const [way, change] of [
    ['an import', () => importLines(deps, [NEW])],
    ['an import that merges', () => importLines(deps, [{ id: 7, email: 'new@example.org' }], { merge: true })],
    ['an import of all or nothing', () => importLines(deps, [EVE, NEW], { strict: true })],
    ['an import that takes it away', () => importLines(deps, [{ ...ADA, email: null }])],
    ['profiles set', async () => void changeByHand(deps, 'ada', { email: 'new@example.org' })],
  ] satisfies [string, () => Promise<unknown>][]) {
    test(`is notified of ${way}, but not of the new address`, async () => {
      await change();
      expect(await sentMails()).toEqual([`ada@example.org: ${SUBJECT}`]);
      expect(smtp.received.at(-1)?.raw).not.toContain('new@example.org');
      expect(await sentMails()).toEqual([]);
    });
  }

  test('is stored until it is notified, and not longer', async () => {
    await importLines(deps, [NEW]);
    expect(stored()).toContain('ada@example.org');
    await sentMails();
    expect(stored()).not.toContain('example.org');
  });

  test('is stored for at most three days if it can’t be reached, and not at all once the profile is erased', async () => {
    await importLines(deps, [NEW, { ...EVE, email: 'eva@example.org' }]);
    eraseProfile(deps, 'Eve', onBox('root'));
    expect(stored()).not.toContain('eve@');
    clock.advance(3 * DAY_MS);
    expect(await sentMails()).toEqual([]);
    expect(stored()).not.toContain('example.org');
    expect(stored()).toContain('dropped');
  });

  test('is not notified if it stays, if only letter case changes, if there was none, or if the line is refused', async () => {
    await importLines(deps, [{ id: 9, username: 'Bob', email: null }]);
    await importLines(deps, [
      { ...ADA, displayName: 'Ada Lovelace', viewsCount: 7 },
      { ...EVE, email: 'EVE@Example.org' },
      { id: 9, username: 'Bob', email: 'bob@example.org' },
      { ...NEW, username: 'Eve' },
    ]);
    expect(await sentMails()).toEqual([]);
  });

  test('is notified once of an import that changes the address several times, and at most three times a day', async () => {
    const to = (name: string) => ({ ...ADA, email: `${name}@example.org` });
    await importLines(deps, [to('a'), to('b'), to('c')]);
    const all = await sentMails();
    for (const name of ['d', 'e', 'f', 'g']) {
      clock.advance(60_000);
      await importLines(deps, [to(name)]);
      all.push(...(await sentMails()));
    }
    expect(all).toEqual(['ada', 'c', 'd'].map((name) => `${name}@example.org: ${SUBJECT}`));
    clock.advance(DAY_MS);
    await importLines(deps, [to('h')]);
    expect(await sentMails()).toEqual([`g@example.org: ${SUBJECT}`]);
  });

  test('is notified after all other mails, since one import may change very many addresses', async () => {
    await importLines(deps, [NEW]);
    clock.advance(1000);
    const other = await request(deps, { profile: 'Eve' });
    moveAndNotify(deps, 'reject', { identifier: other, reason: 'No.', by: onBox('root') });
    clock.advance(60_000);
    expect(await sentMails()).toEqual([
      `eve@example.org: Your API key request ${other} was rejected`,
      `ada@example.org: ${SUBJECT}`,
    ]);
  });
});

describe('a pending request', () => {
  test('shows when the address was changed, until it is decided', async () => {
    const identifier = await request(deps, { profile: 'Ada' });
    expect(showKey(deps, identifier).addressChangedAt).toBeNull();
    clock.advance(5000);
    await importLines(deps, [NEW]);
    expect(showKey(deps, identifier)).toMatchObject({ state: 'pending', addressChangedAt: '2026-01-01T00:00:05.000Z' });
    expect(keyHistory(deps, identifier).at(-1)).toMatchObject({
      event: 'address changed',
      by: 'operator (on the box)',
    });
    await approveKey(deps, { identifier, grant: {}, by: onBox('admin') });
    expect(showKey(deps, identifier)).toMatchObject({ state: 'Active', addressChangedAt: null });
    expect(smtp.received.at(-1)?.to).toEqual(['new@example.org']);
  });

  test('whose secret is being mailed to the former address stays pending, and that secret never works', async () => {
    const identifier = await request(deps, { profile: 'Ada' });
    const slow = await startSmtp({ onMessage: () => void changeByHand(deps, 'ada', { email: NEW.email }) });
    const mailing = { ...deps, mailer: async () => createMailer(serverAt(slow.port), 'keys@example.net') };
    const error = await approveKey(mailing, { identifier, grant: {}, by: onBox('admin') }).catch((fault) => fault);
    expect(error).toBeInstanceOf(AppError);
    expect(error.message).toContain('the e-mail address of Ada was changed');
    expect(error.message).toContain('will never work');
    expect(showKey(deps, identifier)).toMatchObject({ state: 'pending', attempt: { number: 1, result: 'voided' } });
    expect(keyHistory(deps, identifier).at(-1)).toMatchObject({ event: 'address changed', detail: { attempt: 1 } });
    // Approved again at once, without waiting for the lease of the voided attempt.
    await approveKey(deps, { identifier, grant: {}, by: onBox('admin') });
    expect(showKey(deps, identifier).state).toBe('Active');
    expect(smtp.received.map(({ to }) => to[0])).toEqual(['new@example.org']);
  });

  test('that is approved again while its secret is mailed to the former address is not reported as pending', async () => {
    const identifier = await request(deps, { profile: 'Ada' });
    const slow = await startSmtp({
      onMessage: async () => {
        changeByHand(deps, 'ada', { email: NEW.email });
        await approveKey(deps, { identifier, grant: {}, by: onBox('other') });
      },
    });
    const mailing = { ...deps, mailer: async () => createMailer(serverAt(slow.port), 'keys@example.net') };
    const error = await refusal(approveKey(mailing, { identifier, grant: {}, by: onBox('admin') }));
    expect([error.code, error.message]).toEqual([
      'refused',
      `While the mail was on its way, the e-mail address of Ada was changed: the secret in that mail will never work. Key ${identifier} is now Active; see "profilectl keys show ${identifier}".`,
    ]);
    expect(showKey(deps, identifier)).toMatchObject({ state: 'Active', attempt: { number: 3 } });
  });

  test('of another profile stays as it was', async () => {
    const identifier = await request(deps, { profile: 'Eve' });
    await importLines(deps, [NEW, EVE]);
    expect(showKey(deps, identifier).addressChangedAt).toBeNull();
    expect(keyHistory(deps, identifier)).toHaveLength(1);
  });
});
