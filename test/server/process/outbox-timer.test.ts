import { expect, test } from 'bun:test';
import { createLog } from '../../../server/observability/log.ts';
import { startOutboxTimer, TRUSTED_AFTER_MS } from '../../../server/upkeep/outbox.ts';
import { DAY_MS } from '../../../shared/clock.ts';
import { eraseProfile } from '../../../shared/erasure.ts';
import { moveAndNotify } from '../../../shared/keys/life.ts';
import { showKey } from '../../../shared/keys/view.ts';
import type { Mailer } from '../../../shared/mail/send.ts';
import { dayOf, prepareUsageRows } from '../../../shared/usage/usage.ts';
import { get, serverOn } from '../../support/http.ts';
import { issue } from '../../support/keys.ts';
import { startSmtp } from '../../support/mail.ts';
import { signedIn } from '../../support/people.ts';
import { insertProfile } from '../../support/profiles.ts';
import { eventually, onBox, testClock, testDeps } from '../../support/world.ts';

/** A server that starts while a mail about a key is waiting; the mail server delays its reply. */
async function world() {
  const { promise: mayAccept, resolve: accept } = Promise.withResolvers<void>();
  const { promise: arrived, resolve: arrive } = Promise.withResolvers<void>();
  let isHeld = false;
  const smtp = await startSmtp({
    onMessage: async () => {
      if (!isHeld) return;
      arrive();
      await mayAccept;
    },
  });
  // Mails are sent by the system's clock, to which this one advances below.
  const clock = testClock(Date.now() - DAY_MS);
  const deps = testDeps({ clock, variables: { MAIL_URL: smtp.url, MAIL_FROM: 'keys@example.org' } });
  insertProfile(deps.db);
  const { identifier } = await issue(deps);
  moveAndNotify(deps, 'revoke', { identifier, reason: 'Leaked.', by: onBox('root') });
  clock.advance(DAY_MS);
  isHeld = true;
  const server = await serverOn({ ...deps, clock });
  await arrived;
  const lines = () => server.log.map(({ message }) => message).filter((text) => String(text).includes(identifier));
  return { server, smtp, accept, lines };
}

test('a starting server sends waiting mails, answers requests while it does, and logs no e-mail address', async () => {
  const w = await world();
  expect((await get(w.server, '/readyz')).status).toBe(200);
  expect(w.lines()).toEqual([]);
  w.accept();
  await eventually(() => w.lines().length > 0);
  expect(w.lines().join()).toMatch(/^The revocation mail about key \w+ was sent\.$/);
  expect(JSON.stringify(w.server.log)).not.toContain('owner1@');
  expect(w.smtp.received.at(-1)?.to).toEqual(['owner1@example.org']);
  await w.server.stop();
});

test('a stopping server waits for the mail that is being sent, and logs its outcome', async () => {
  const w = await world();
  const stopped = w.server.stop();
  w.accept();
  await stopped;
  expect(w.lines()).toHaveLength(1);
  const { results } = w.server.deps.db.$client.query('SELECT group_concat(result) AS results FROM mails').get() as {
    results: string;
  };
  expect(results).toBe('accepted');
});

test('nothing is deleted or ended because of its age before the server has run for ten minutes', async () => {
  const clock = testClock();
  const deps = testDeps({ clock, variables: { MAIL_URL: 'smtp://127.0.0.1:9', MAIL_FROM: 'keys@example.org' } });
  insertProfile(deps.db);
  insertProfile(deps.db, { id: 2 });
  const mailer = async () => ({ send: async () => ({ outcome: 'accepted' }) }) as unknown as Mailer;
  const { identifier } = await issue({ ...deps, mailer }, {}, { expiresAtMs: clock.nowMs() + 431 * DAY_MS });
  moveAndNotify(deps, 'revoke', {
    identifier: (await issue({ ...deps, mailer })).identifier,
    reason: 'No.',
    by: onBox('root'),
  });
  eraseProfile(deps, 2, onBox('operator'));
  const counts = { ok: 1, notFound: 0, forbidden: 0, malformed: 0, limited: 0, failed: 0 };
  prepareUsageRows(deps.db.$client)([{ identifier, day: dayOf(clock.nowMs()), ...counts, lastUsedAt: clock.nowMs() }]);
  const count = (rows: string) => deps.db.$client.query(`SELECT 1 FROM ${rows}`).all().length;
  const found = () => ({
    reminders: count("mails WHERE kind = 'reminder'"),
    waiting: count("mails WHERE result = 'waiting' AND kind = 'revocation'"),
    usage: count('key_usage'),
    erased: count('erased_profiles'),
    signIns: count('sign_ins'),
  });
  signedIn(deps, insertProfile(deps.db, { id: 3 }));
  // The clock is more than a year ahead when the machine starts.
  clock.jump(420 * DAY_MS);
  const timer = startOutboxTimer({ deps, log: createLog('silent', clock.nowMs, () => {}), isStopping: false });
  await timer.first;
  clock.advance(TRUSTED_AFTER_MS - 1);
  await timer.first;
  expect(found()).toEqual({ reminders: 0, waiting: 1, usage: 1, erased: 1, signIns: 1 });
  clock.advance(1);
  await eventually(() => count('key_usage') === 0);
  expect(found()).toEqual({ reminders: 1, waiting: 0, usage: 0, erased: 0, signIns: 0 });
  expect(showKey(deps, identifier).state).toBe('Active');
  await timer.stop();
}, 20_000);

test('expired sign-ins are deleted although a slow mail server still has mails to take', async () => {
  const clock = testClock();
  const variables = { MAIL_URL: 'smtp://127.0.0.1:9', MAIL_FROM: 'keys@example.org' };
  const answers: (() => void)[] = [];
  const send: Mailer['send'] = () => new Promise((resolve) => answers.push(() => resolve({ outcome: 'accepted' })));
  const deps = { ...testDeps({ clock, variables }), mailer: async () => ({ send }) };
  const due = deps.db.$client.query(
    "INSERT INTO mails (profile_id, kind, subject, body, at, next_try_at) VALUES (?, 'revocation', 'Gone', 'Gone', 0, 0)",
  );
  for (let id = 1; id <= 6; id++) due.run(insertProfile(deps.db, { id }));
  signedIn(deps, insertProfile(deps.db, { id: 7 }));
  clock.jump(2 * DAY_MS);
  const timer = startOutboxTimer({ deps, log: createLog('silent', clock.nowMs, () => {}), isStopping: false });
  await eventually(() => answers.length === 5);
  clock.advance(TRUSTED_AFTER_MS);
  for (const answer of answers) answer();
  await eventually(() => deps.db.$client.query('SELECT 1 FROM sign_ins').all().length === 0);
  expect(answers).toHaveLength(5);
  await timer.stop();
});
