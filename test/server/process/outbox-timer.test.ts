import { expect, test } from 'bun:test';
import { createLog } from '../../../server/observability/log.ts';
import { startOutboxTimer } from '../../../server/upkeep/outbox.ts';
import { DAY_MS, SETTLE_MS } from '../../../shared/clock.ts';
import { eraseProfile } from '../../../shared/erasure/erase-profile.ts';
import type { Mailer } from '../../../shared/mail/send.ts';
import { onBox } from '../../support/actors.ts';
import { eventually } from '../../support/eventually.ts';
import { get, serverOn } from '../../support/http.ts';
import { issue } from '../../support/keys.ts';
import { startSmtp } from '../../support/mail/smtp.ts';
import { insertProfile } from '../../support/profiles.ts';
import { testClock, testDeps } from '../../support/world.ts';

/** A server that starts a week before a key expires; the mail server delays its reply. */
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
  // The thread that sends mails has the system's clock, to which this clock advances below.
  const clock = testClock(Date.now() - 83 * DAY_MS);
  const deps = testDeps({ clock, variables: { MAIL_URL: smtp.url, MAIL_FROM: 'keys@example.org' } });
  insertProfile(deps.db);
  const { identifier } = await issue({ ...deps }, {}, { expiresAtMs: clock.nowMs() + 90 * DAY_MS });
  clock.advance(83 * DAY_MS);
  isHeld = true;
  const server = await serverOn({ ...deps, clock });
  await arrived;
  const lines = () => server.log.map(({ message }) => message).filter((text) => String(text).includes(identifier));
  return { server, smtp, accept, lines };
}

test('a starting server reminds owners, answers requests while it does, and logs no e-mail address', async () => {
  const w = await world();
  expect((await get(w.server, '/readyz')).status).toBe(200);
  expect(w.lines()).toEqual([]);
  w.accept();
  await eventually(() => w.lines().length > 0);
  expect(w.lines().join()).toMatch(/^The reminder mail about key \w+ was sent\.$/);
  expect(JSON.stringify(w.server.log)).not.toContain('owner1@');
  expect(w.smtp.received.at(-1)?.to).toEqual(['owner1@example.org']);
  await w.server.stop();
});

test('a stopping server waits for the reminder that is being sent, and logs its outcome', async () => {
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

test('a server whose clock may be wrong sends no reminders for ten minutes', async () => {
  const clock = testClock(undefined, false);
  const deps = testDeps({ clock, variables: { MAIL_URL: 'smtp://127.0.0.1:9', MAIL_FROM: 'keys@example.org' } });
  insertProfile(deps.db);
  const onPaper = {
    ...deps,
    mailer: async () => ({ send: async () => ({ outcome: 'accepted' }) }) as unknown as Mailer,
  };
  await issue(onPaper, {}, { expiresAtMs: clock.nowMs() + 31 * DAY_MS });
  clock.jump(18 * DAY_MS);
  const reminders = () => deps.db.$client.query("SELECT 1 FROM mails WHERE kind = 'reminder'").all().length;
  const log = createLog('info', clock.nowMs, () => {});
  const notifying = startOutboxTimer({ deps, log }, async () => {});
  await notifying.first;
  expect(reminders()).toBe(0);
  clock.advance(SETTLE_MS);
  await eventually(() => reminders() > 0);
  await notifying.stop();
}, 20_000);

test('a server deletes the ids of profiles erased 40 days ago, but not while its clock may be wrong', async () => {
  const clock = testClock(undefined, false);
  const deps = testDeps({ clock });
  insertProfile(deps.db);
  eraseProfile(deps, 1, onBox('operator'));
  const erased = () => deps.db.$client.query('SELECT id FROM erased_profiles').all().length;
  const log = createLog('info', clock.nowMs, () => {});
  const look = async () => {
    const notifying = startOutboxTimer({ deps, log }, async () => {});
    await notifying.first;
    await notifying.stop();
  };
  clock.jump(41 * DAY_MS);
  await look();
  expect(erased()).toBe(1);
  clock.advance(SETTLE_MS);
  await look();
  expect(erased()).toBe(0);
});
