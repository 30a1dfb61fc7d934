import { describe, expect, test } from 'bun:test';
import { stopBackground } from '../../../../server/background.ts';
import { createPortalServices } from '../../../../server/portal/services.ts';
import { removeAdmin } from '../../../../shared/admins/admins.ts';
import { rejectKey } from '../../../../shared/keys/life/lifecycle.ts';
import { keyHistory, showKey } from '../../../../shared/keys/view.ts';
import { onBox } from '../../../support/actors.ts';
import { importLines } from '../../../support/import.ts';
import { request } from '../../../support/keys.ts';
import { type ReceivedMail, type SmtpFailures, startBrokenSmtp, startSmtp } from '../../../support/mail/smtp.ts';
import {
  APPROVAL,
  adminWorld,
  decideAs,
  keyPageOf,
  sendDecision,
  shownTo,
  signInAdmin,
  textOf,
} from '../../../support/portal/admin-pages.ts';
import { ask, type PageWorld, visit } from '../../../support/portal/pages.ts';
import { emptyLimits } from '../../../support/storage/limits.ts';

// Approvals run in the background: the form is answered at once, and pages show the progress from the database alone.

const worldMailingTo = (port: number) =>
  adminWorld({ MAIL_URL: `smtp://127.0.0.1:${port}`, MAIL_FROM: 'keys@example.net' });

/** Pages that mail to a port of this machine, with a pending key: `approve` approves it, `read` returns the text of its page. */
async function pendingKey({ port }: { port: number }) {
  const world = await worldMailingTo(port);
  const grace = await signInAdmin(world, 'Grace');
  const identifier = await request(world.access, { profile: 'ada' });
  const approve = () => decideAs(world, grace, identifier, APPROVAL);
  const read = async () => textOf(await keyPageOf(world, grace, identifier));
  return { world, grace, identifier, approve, read };
}

/** A mail server that accepts messages only after `open` is called. */
async function slowSmtp() {
  const gate = Promise.withResolvers<void>();
  const arrived = Promise.withResolvers<ReceivedMail>();
  const smtp = await startSmtp({
    onMessage: (mail) => {
      arrived.resolve(mail);
      return gate.promise;
    },
  });
  return { ...smtp, open: gate.resolve, arrived: arrived.promise };
}

describe('the page of a key shows the outcome of its approval', () => {
  test('while the e-mail is on its way, and once it was accepted', async () => {
    const smtp = await slowSmtp();
    const { world, grace, identifier, approve } = await pendingKey(smtp);
    const hopper = await signInAdmin(world, 'Hopper');
    expect((await approve()).status).toBe(303);
    await smtp.arrived;
    const path = `/developers/admin/keys/${identifier}`;
    const during = await ask(world, path, { cookie: grace.cookie });
    expect(during.body).toContain('<div id="attempt" role="status" data-result="open">');
    expect(textOf(during)).toContain(
      'On 2026-01-01 00:00 UTC admin Grace approved it. The e-mail with the secret is being sent',
    );
    expect(during.body).toContain(`<a href="${path}">Refresh</a>`);
    // The second admin sees who is approving it, and can't begin a second attempt.
    expect(textOf(await ask(world, path, { cookie: hopper.cookie }))).toContain('admin Grace approved it');
    // The queue shows Grace the outcome, and says of the row below it what the outcome says.
    const queue = () => ask(world, `/developers/admin?decided=${identifier}`, { cookie: grace.cookie });
    const mailing = await queue();
    expect(mailing.body).toContain('<div id="decided" role="status" data-result="open"');
    expect(textOf(mailing)).toContain('admin Grace is approving it: the e-mail is on its way.');
    expect(mailing.body).not.toContain(`value="${identifier}"`);
    const second = await decideAs(world, hopper, identifier, APPROVAL);
    expect([second.status, textOf(second).includes('admin Grace has been approving key')]).toEqual([503, true]);
    smtp.open();
    const after = await keyPageOf(world, grace, identifier);
    await visit(world, '/developers');
    expect(after.status).toBe(200);
    const done = await keyPageOf(world, grace, identifier);
    expect(done.body).toContain('data-result="accepted"');
    expect(textOf(done)).toContain('the e-mail with the secret was accepted: the key works.');
    expect(showKey(world.access, identifier).state).toBe('Active');
    const settled = await queue();
    expect(textOf(settled)).toContain('Bot (ada) mailed The key is Active.');
    expect(settled.body).not.toContain(`id="row-${identifier}"`);
    expect(smtp.received.length).toBe(1);
    expect(world.events).toEqual([]);
  });

  test('if the mail server refuses the e-mail, with its reason for admins and without it for owners', async () => {
    const failures: SmtpFailures = { rcpt: '550 5.1.1 mailbox of the marked-server is full' };
    const smtp = await startSmtp({ failures });
    const { world, grace, identifier, approve, read } = await pendingKey(smtp);
    await approve();
    await visit(world, '/developers');
    const page = await read();
    expect(page).toContain('but the e-mail with the secret was refused.');
    expect(page).toContain('550 5.1.1 mailbox of the marked-server is full');
    expect(page).toContain('The request is still pending.');
    expect(keyHistory(world.access, identifier).at(-1)).toMatchObject({
      event: 'approval refused',
      detail: { attempt: 1, reason: expect.stringContaining('marked-server') },
    });
    expect(JSON.stringify(keyHistory(world.access, identifier, 'owner'))).not.toContain('marked-server');
    expect(JSON.stringify(world.events)).not.toMatch(/marked-server|ada@/);
    expect(world.events).toEqual([
      ['warn', `Key ${identifier} was approved, but did not become Active; its page says why.`],
    ]);
    // Approving again, once the mailbox has room, makes the key work.
    delete failures.rcpt;
    await approve();
    expect((await keyPageOf(world, grace, identifier)).status).toBe(200);
    expect(showKey(world.access, identifier)).toMatchObject({ state: 'Active', attempt: { number: 2 } });
  });

  test('if the request was rejected after the mail server had refused, without calling it pending', async () => {
    const smtp = await startSmtp({ failures: { rcpt: '550 5.1.1 no such mailbox' } });
    const { world, identifier, approve, read } = await pendingKey(smtp);
    await approve();
    await visit(world, '/developers');
    rejectKey(world.access, { identifier, reason: 'No.', by: onBox('root') });
    const page = await read();
    expect(page).toContain('but the e-mail with the secret was refused.');
    expect(page).not.toContain('The request is still pending');
    // An hour later, only the history shows it.
    world.clock.advance(3_600_000);
    const later = await keyPageOf(world, await signInAdmin(world, 'Hopper'), identifier);
    expect(later.body).toContain('<div id="attempt" role="status" data-result="refused"></div>');
  });

  test('as not confirmed if the connection was lost when the mail server may have accepted the e-mail', async () => {
    const smtp = await startBrokenSmtp({ dot: 'close' });
    const { world, identifier, approve, read } = await pendingKey(smtp);
    await approve();
    await visit(world, '/developers');
    const page = await read();
    expect(page).toContain('but it is not known whether the e-mail with the secret was delivered.');
    expect(page).toContain('closed the connection');
    expect(showKey(world.access, identifier).state).toBe('pending');
  });

  test('if another admin rejected it in the meantime: who did, and that the secret never works', async () => {
    const smtp = await slowSmtp();
    const { world, identifier, approve, read } = await pendingKey(smtp);
    const hopper = await signInAdmin(world, 'Hopper');
    await approve();
    await smtp.arrived;
    await decideAs(world, hopper, identifier, [
      ['operation', 'reject'],
      ['reason', 'Not this one.'],
    ]);
    smtp.open();
    await visit(world, '/developers');
    const page = await read();
    expect(page).toContain(
      'While the e-mail with the secret was on its way, the request was rejected by admin Hopper. If that e-mail arrives, the secret in it will never work.',
    );
    expect(showKey(world.access, identifier).state).toBe('rejected');
  });

  test('if the e-mail address was changed in the meantime: the attempt is void and the request stays pending', async () => {
    const smtp = await slowSmtp();
    const { world, identifier, approve, read } = await pendingKey(smtp);
    await approve();
    await smtp.arrived;
    await importLines(world.access, [{ id: 7, username: 'ada', email: 'other@example.org' }]);
    smtp.open();
    await visit(world, '/developers');
    const page = await read();
    expect(page).toContain('its owner’s address was changed');
    expect(page).toContain(
      'The e-mail address of this profile was changed 2026-01-01 00:00 UTC, after this was requested.',
    );
    expect(showKey(world.access, identifier).state).toBe('pending');
  });

  const CHANGES = [
    [
      'the e-mail address changes',
      ({ access }: PageWorld) => importLines(access, [{ id: 7, username: 'ada', email: 'other@example.org' }]),
      [409, 'changed_since'],
      'The e-mail address of this profile was changed 2026-01-01 00:00 UTC',
    ],
    [
      'the admin is removed',
      ({ access }: PageWorld) => removeAdmin(access, 'Grace', onBox('root')),
      [403, 'signed_out'],
      'You are no longer signed in, because your access as an admin was changed; nothing was done.',
    ],
  ] as const;
  for (const [what, change, refused, sentence] of CHANGES) {
    test(`nothing is mailed if ${what} while the approval begins`, async () => {
      const smtp = await startSmtp();
      const { world, grace, identifier } = await pendingKey(smtp);
      const form: [string, string][] = [...APPROVAL, ['shown', await shownTo(world, grace, identifier)]];
      // The mailer is asked for before the approval is stored.
      const { mailer } = world.access;
      let asked = 0;
      world.access.mailer = async () => {
        if (++asked === 1) await change(world);
        return mailer();
      };
      const answer = await sendDecision(world, grace, identifier, form);
      expect([asked, answer.status, answer.refusal]).toEqual([1, ...refused]);
      expect(textOf(answer)).toContain(sentence);
      await visit(world, '/developers');
      expect(showKey(world.access, identifier)).toMatchObject({ state: 'pending', attempt: null });
      const secrets = smtp.received.filter(({ to, raw }) => to.join().includes('other@') || raw.includes('plk_'));
      expect(secrets).toEqual([]);
    });
  }
});

describe('when the server stops', () => {
  test('no approval starts, and the form comes back as it was sent', async () => {
    const world = await adminWorld();
    const grace = await signInAdmin(world, 'Grace');
    const identifier = await request(world.access, { profile: 'ada' });
    world.services.isStopping = true;
    const answer = await decideAs(world, grace, identifier, APPROVAL);
    expect([
      answer.status,
      textOf(answer).includes('The server is shutting down; approve it once it is back.'),
    ]).toEqual([503, true]);
    expect(answer.body).toContain('value="60/1m"');
    expect(showKey(world.access, identifier)).toMatchObject({ state: 'pending', attempt: null });
    // Rejecting needs no mail server to answer.
    const reject: [string, string][] = [
      ['operation', 'reject'],
      ['reason', 'No.'],
    ];
    expect((await decideAs(world, grace, identifier, reject)).status).toBe(303);
  });

  test('it waits for an approval in progress, then stores it as not confirmed, and the mailed secret never works', async () => {
    const smtp = await slowSmtp();
    const { world, grace, identifier, approve } = await pendingKey(smtp);
    await approve();
    await smtp.arrived;
    await stopBackground(world.services.background, 10);
    expect(showKey(world.access, identifier)).toMatchObject({ state: 'pending', attempt: { result: 'not confirmed' } });
    expect(textOf(await ask(world, `/developers/admin/keys/${identifier}`, grace))).toContain(
      'The server was stopped before the mail was confirmed, so it may or may not arrive.',
    );
    smtp.open();
    const restarted = { services: createPortalServices(world.access, () => {}, emptyLimits(world.access.clock)) };
    await decideAs(restarted, grace, identifier, APPROVAL);
    await visit(restarted, '/developers');
    expect(showKey(world.access, identifier)).toMatchObject({ state: 'Active', attempt: { number: 2 } });
  });
});
