import { describe, expect, test } from 'bun:test';
import { performAndSend } from '../../../cli/keys/context.ts';
import { DAY_MS } from '../../../shared/clock.ts';
import { openFile } from '../../../shared/db/connect.ts';
import { OPERATIONS } from '../../../shared/operations.ts';
import { dueStep } from '../../../shared/outbox/reminders.ts';
import { onBox } from '../../support/actors.ts';
import { eraseProfile } from '../../support/erase.ts';
import { issue } from '../../support/keys.ts';
import { sendDueNotices } from '../../support/mail/notices.ts';
import { startSmtp } from '../../support/mail/smtp.ts';
import { insertProfile } from '../../support/profiles.ts';
import { refusal } from '../../support/refusal.ts';
import { testClock, testDeps } from '../../support/world.ts';

const HOUR_MS = 3_600_000;

/** A real mail server, and a key that was approved for `lifeDays` days. */
async function world(lifeDays = 90) {
  const smtp = await startSmtp();
  const clock = testClock();
  const variables = { MAIL_URL: smtp.url, MAIL_FROM: 'keys@example.org' };
  const deps = testDeps({ clock, variables });
  insertProfile(deps.db);
  const log: string[] = [];
  const grant = { expiresAtMs: clock.nowMs() + lifeDays * DAY_MS };
  const { identifier } = await issue(deps, { name: 'Nightly' }, grant);
  smtp.received.length = 0;
  const send = () => sendDueNotices(deps, (level, text) => void log.push(`${level}: ${text}`), true);
  /** The reminders mailed since the last call, with the time that is left. */
  const mailed = () => {
    const reminders = smtp.received.splice(0).filter(({ raw }) => !raw.includes(`${identifier} was changed`));
    return reminders.map(({ to, raw }) => {
      expect(raw).toContain(`Subject: Your API key ${identifier} expires soon`);
      expect(raw).not.toContain('plk_');
      return `${to[0]}: ${/expires\s+(within\s+a\s+day|in\s+\d+\s+days)/.exec(raw)?.[1]?.replace(/\s+/g, ' ')}`;
    });
  };
  const leave = (days: number) => clock.advance(grant.expiresAtMs - days * DAY_MS - clock.nowMs());
  return { smtp, clock, deps, identifier, log, send, mailed, leave };
}

describe('the step that is due', () => {
  const at = (leftDays: number, lifeDays = 90) =>
    dueStep({ expirySetAt: 0, expiresAt: lifeDays * DAY_MS }, (lifeDays - leftDays) * DAY_MS);

  test('begins 30 days, 7 days and 1 day before the key expires', () => {
    const days = [31, 30, 29.9, 8, 7, 6.9, 2, 1, 0.01];
    expect(days.map((left) => at(left))).toEqual([null, 30, 30, 30, 7, 7, 7, 1, 1]);
    expect([at(0), at(-1)]).toEqual([null, null]);
  });

  test('is none if the key was approved for a shorter time', () => {
    expect([at(30, 30), at(29, 29), at(29, 31), at(7, 30), at(6, 7), at(1, 7), at(0.5, 1)]).toEqual([
      null,
      null,
      30,
      7,
      null,
      1,
      null,
    ]);
  });
});

describe('the owner', () => {
  test('is reminded once at each step', async () => {
    const w = await world();
    const reminded: string[][] = [];
    for (const days of [31, 30, 29, 8, 7, 6, 1, 0.5, -1]) {
      w.leave(days);
      for (let turn = 0; turn < 3; turn++) expect(await w.send()).toBe(false);
      reminded.push(w.mailed());
    }
    const to = (words: string) => [`owner1@example.org: ${words}`];
    expect(reminded).toEqual([[], to('in 30 days'), [], [], to('in 7 days'), [], to('within a day'), [], []]);
    expect(w.log).toHaveLength(3);
    expect(w.log.join()).not.toContain('@');
  });

  test('is reminded of only the last of several missed steps', async () => {
    const w = await world();
    w.leave(3);
    await w.send();
    expect(w.mailed()).toEqual(['owner1@example.org: in 3 days']);
  });

  for (const [what, change] of [
    [
      'the key was revoked',
      (w) => performAndSend(w.deps, onBox('admin'), OPERATIONS.revoke, { identifier: w.identifier, reason: 'Leaked.' }),
    ],
    ['the profile was erased', (w) => void eraseProfile(w.deps, 'user1', onBox('admin'))],
    ['the profile is banned', (w) => void w.deps.db.$client.run('UPDATE profiles SET banned = 1')],
    ['there is no e-mail address', (w) => void w.deps.db.$client.run('UPDATE profiles SET email = NULL')],
    ['the e-mail address is invalid', (w) => void w.deps.db.$client.run("UPDATE profiles SET email = 'a@b,c@d'")],
  ] satisfies [string, (w: Awaited<ReturnType<typeof world>>) => unknown][]) {
    test(`is not reminded if ${what}`, async () => {
      const w = await world();
      await change(w);
      w.smtp.received.length = 0;
      w.leave(7);
      await w.send();
      expect([w.mailed(), w.log]).toEqual([[], []]);
    });
  }

  test('is reminded once the profile has an e-mail address', async () => {
    const w = await world();
    w.deps.db.$client.run('UPDATE profiles SET email = NULL');
    w.leave(7);
    await w.send();
    w.deps.db.$client.run("UPDATE profiles SET email = 'new@example.org'");
    await w.send();
    expect(w.mailed()).toEqual(['new@example.org: in 7 days']);
  });

  test('is not reminded while MAIL_URL is not set', async () => {
    const w = await world();
    w.leave(7);
    w.deps.config.mail = null;
    expect(await w.send()).toBe(false);
    expect(w.deps.db.$client.query('SELECT count(*) AS n FROM notices').get()).toEqual({ n: 0 });
  });
});

describe('if the expiry is changed, the owner', () => {
  const move = (w: Awaited<ReturnType<typeof world>>, days: number) => {
    const expiresAtMs = w.clock.nowMs() + days * DAY_MS;
    return performAndSend(w.deps, onBox('admin'), OPERATIONS.change, { identifier: w.identifier, expiresAtMs });
  };
  const to = (...words: string[]) => words.map((some) => `owner1@example.org: ${some}`);

  /** The mails from now on, if reminders are checked once a day, or twice if it is for a few days. */
  async function mailedWithin(w: Awaited<ReturnType<typeof world>>, days: number): Promise<string[]> {
    w.smtp.received.length = 0;
    const hours = days > 10 ? 24 : 12;
    for (let passed = 0; passed < 24 * days; passed += hours) {
      await w.send();
      w.clock.advance(hours * HOUR_MS);
    }
    return w.mailed();
  }

  test('is reminded at each step before the new date, including steps already reminded of before the old one', async () => {
    const w = await world();
    w.leave(6.5);
    await w.send();
    expect(w.mailed()).toEqual(to('in 7 days'));
    await move(w, 60);
    expect(await mailedWithin(w, 70)).toEqual(to('in 30 days', 'in 7 days', 'within a day'));
  });

  test('is not reminded of steps that began before the change, since its own mail named the new date', async () => {
    const w = await world();
    w.clock.advance(20 * DAY_MS);
    await move(w, 20);
    expect(await mailedWithin(w, 30)).toEqual(to('in 7 days', 'within a day'));
  });

  test('is not reminded of a step twice for one date that was moved away and back', async () => {
    const w = await world();
    w.leave(6.5);
    await w.send();
    expect(w.mailed()).toEqual(to('in 7 days'));
    await move(w, 7.5);
    expect(await mailedWithin(w, 1)).toEqual(to('in 7 days'));
    await move(w, 5.5);
    expect(await mailedWithin(w, 10)).toEqual(to('within a day'));
  });

  test('is not reminded of a step that was waiting to be sent while the date was moved away and back', async () => {
    const w = await world();
    w.leave(6.5);
    w.smtp.failures.rcpt = '450 4.2.0 try later';
    await w.send();
    delete w.smtp.failures.rcpt;
    await move(w, 60);
    await move(w, 6.5);
    w.clock.advance(HOUR_MS);
    expect(await mailedWithin(w, 10)).toEqual(to('within a day'));
  });

  test('is no longer reminded if the key no longer expires', async () => {
    const w = await world();
    await performAndSend(w.deps, onBox('admin'), OPERATIONS.change, { identifier: w.identifier, expiresAtMs: null });
    expect(await mailedWithin(w, 100)).toEqual([]);
  });

  test('is still reminded if an entry of the history about a change is damaged', async () => {
    const w = await world();
    await move(w, 60);
    w.deps.db.$client.run('DROP TRIGGER key_events_never_changed');
    w.deps.db.$client.run("UPDATE key_events SET detail = '{' WHERE event = 'changed'");
    expect(await mailedWithin(w, 70)).toEqual(to('in 30 days', 'in 7 days', 'within a day'));
  });

  test('is reminded once for each date even if the clock was set back to before the change', async () => {
    const w = await world();
    await move(w, 90);
    w.clock.advance(60 * DAY_MS);
    await w.send();
    expect(w.mailed().filter((line) => line.includes('30'))).toEqual(to('in 30 days'));
    // The change is now in the future.
    w.deps.db.$client.run('DROP TRIGGER key_events_never_changed');
    w.deps.db.$client.run("UPDATE key_events SET at = at + ? WHERE event = 'changed'", [59 * DAY_MS]);
    expect(await mailedWithin(w, 1)).toEqual([]);
  });
});

test('a reminder for a changed expiry is not sent; the new expiry has its own reminders', async () => {
  const w = await world();
  w.leave(7);
  w.smtp.failures.rcpt = '450 4.2.0 try later';
  await w.send();
  delete w.smtp.failures.rcpt;
  w.deps.db.$client.run('UPDATE api_keys SET expires_at = expires_at + ?', [30 * DAY_MS]);
  w.clock.advance(HOUR_MS);
  await w.send();
  expect(w.mailed()).toEqual([]);
  w.leave(7 - 30);
  await w.send();
  expect(w.mailed()).toEqual(['owner1@example.org: in 7 days']);
});

test('a reminder that the mail server refuses permanently is not sent again', async () => {
  const w = await world();
  w.leave(7);
  w.smtp.failures.rcpt = '550 5.1.1 no such user';
  for (let day = 0; day < 3; day++) {
    await w.send();
    w.clock.advance(DAY_MS);
  }
  expect(w.log).toHaveLength(1);
});

test('two processes that send reminders at the same time remind the owner once', async () => {
  const w = await world();
  w.leave(7);
  await Promise.all([w.send(), w.send(), w.send()]);
  expect(w.mailed()).toHaveLength(1);
});

test('while another process holds the lock nothing is sent, and the reminder is retried', async () => {
  const w = await world();
  w.leave(7);
  const importing = openFile(w.deps.config.databasePath, 0);
  importing.run('BEGIN IMMEDIATE');
  expect((await refusal(w.send())).code).toBe('busy');
  expect(w.mailed()).toEqual([]);
  importing.close();
  expect(await w.send()).toBe(false);
  expect(w.mailed()).toHaveLength(1);
});
