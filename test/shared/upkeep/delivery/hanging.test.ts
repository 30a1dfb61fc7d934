import { describe, expect, test } from 'bun:test';
import { performAndSend } from '../../../../cli/keys/context.ts';
import { OPERATIONS, perform } from '../../../../shared/operations.ts';
import { readStatus } from '../../../../shared/upkeep/status.ts';
import { onBox } from '../../../support/actors.ts';
import { DESCRIPTION, request } from '../../../support/keys.ts';
import { sendDueNotices } from '../../../support/mail/notices.ts';
import { startSmtp } from '../../../support/mail/smtp.ts';
import { insertProfile } from '../../../support/profiles.ts';
import { testClock, testDeps } from '../../../support/world.ts';

const HOUR_MS = 3_600_000;
const TWO_ADMINS = { ADMIN_EMAIL: 'hang-root@example.net, ops@example.net' };

/** A mail server that hangs for recipients whose address begins with `hang`, until `release` is called. */
async function world(variables: Record<string, string> = {}) {
  const { promise: released, resolve: release } = Promise.withResolvers<void>();
  const hanging: string[] = [];
  const smtp = await startSmtp({
    onRecipient: async (address) => {
      if (!address.startsWith('hang')) return;
      hanging.push(address);
      await released;
    },
  });
  const clock = testClock();
  const deps = testDeps({ clock, variables: { MAIL_URL: smtp.url, MAIL_FROM: 'keys@example.org', ...variables } });
  const admin = onBox('admin');
  /** Makes a profile with an address, and a number of due mails about its keys. */
  const addOwner = async (id: number, email: string, count = 1) => {
    insertProfile(deps.db, { id, email });
    for (let made = 0; made < count; made++) {
      const identifier = await request(deps, { profile: `user${id}` });
      await perform(deps, admin, OPERATIONS.reject, { identifier, reason: 'No.' });
    }
  };
  const log: string[] = [];
  const sendDue = () => sendDueNotices(deps, (level, text) => void log.push(`${level}: ${text}`), false);
  const recipients = () => smtp.received.map(({ to }) => to[0]);
  /** Resolves once `count` mails were accepted. */
  const mailed = async (count: number) => {
    while (smtp.received.length < count) await Bun.sleep(10);
  };
  return { smtp, clock, deps, admin, addOwner, sendDue, log, hanging, release, recipients, mailed };
}

const HANGING = ['hang1', 'hang2', 'hang3', 'hang4', 'hang5', 'hang6'].map((name) => `${name}@example.org`);

describe('if the mail server hangs for some recipients', () => {
  test('other mails are not delayed, even if they become due later, and all are sent in the end', async () => {
    const w = await world();
    for (const [at, email] of HANGING.entries()) await w.addOwner(at + 1, email);
    w.clock.advance(1_000);
    await w.addOwner(7, 'ada@example.org');
    const sending = w.sendDue();
    await w.mailed(1);
    await w.addOwner(8, 'bea@example.org');
    await w.mailed(2);
    expect(w.recipients()).toEqual(['ada@example.org', 'bea@example.org']);
    expect(w.hanging.toSorted()).toEqual(HANGING);
    w.release();
    expect(await sending).toBe(false);
    expect(w.recipients().toSorted()).toEqual(['ada@example.org', 'bea@example.org', ...HANGING]);
  });

  test('each recipient is sent one mail at a time, however many keys and profiles they have', async () => {
    const w = await world();
    await w.addOwner(1, 'hang@example.org', 3);
    await w.addOwner(2, 'hang@example.org');
    w.clock.advance(1_000);
    await w.addOwner(3, 'ada@example.org');
    const sending = w.sendDue();
    await w.mailed(1);
    expect(w.hanging).toEqual(['hang@example.org']);
    w.release();
    await sending;
    expect(w.recipients()).toEqual(['ada@example.org', ...Array(4).fill('hang@example.org')]);
  });

  test('delivery does not pause after five refused recipients, but after three failures of the mail server itself', async () => {
    const w = await world();
    for (let id = 1; id <= 5; id++) await w.addOwner(id, `user${id}@example.org`);
    w.smtp.failures.rcpt = '451 4.7.1 come back later';
    expect(await w.sendDue()).toBe(false);
    expect(w.log).toHaveLength(5);
    w.smtp.failures.mail = '451 4.3.0 not now';
    w.clock.advance(HOUR_MS);
    expect(await w.sendDue()).toBe(true);
    expect(w.log).toHaveLength(8);
  });

  test('a command mails the other admins at once, waits for the hanging mail, and leaves it to the server if it fails', async () => {
    const w = await world(TWO_ADMINS);
    insertProfile(w.deps.db);
    const asked = performAndSend(w.deps, w.admin, OPERATIONS.request, {
      profile: 'user1',
      name: 'Bot',
      description: DESCRIPTION,
      permissions: ['api.lookup'],
    });
    await w.mailed(1);
    expect(w.recipients()).toEqual(['ops@example.net']);
    w.smtp.failures.rcpt = '451 4.7.1 come back later';
    w.release();
    expect((await asked).warning).toContain('A running server retries for three days.');
    expect(readStatus(w.deps).notices).toMatchObject({ waiting: 1, undelivered: [{ to: 'admin 1', tries: 1 }] });
  });
});
