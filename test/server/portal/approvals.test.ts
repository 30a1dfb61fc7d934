import { afterAll, describe, expect, test } from 'bun:test';
import { findAdmin, removeAdmin } from '../../../shared/admins.ts';
import { keyHistory, showKey } from '../../../shared/keys/view.ts';
import { OPERATIONS, perform } from '../../../shared/operations.ts';
import { issue, mailedSecrets, request } from '../../support/keys.ts';
import { type ReceivedMail, startBrokenSmtp, startSmtp } from '../../support/mail.ts';
import { ADA, adminPages } from '../../support/pages.ts';
import { importLines } from '../../support/profiles.ts';
import { eventually, onBox } from '../../support/world.ts';
import { pageRecorder } from './readable.ts';

// Approvals go on after their form was answered, and pages show how far they are; requests decided on together are decided on
// each by itself.

const record = pageRecorder(import.meta.path);

/** A mail server that accepts messages only after `open` is called. */
async function slowSmtp() {
  const gate = Promise.withResolvers<void>();
  const begun: ReceivedMail[] = [];
  const smtp = await startSmtp({
    onMessage: (mail) => {
      begun.push(mail);
      return gate.promise;
    },
  });
  afterAll(() => gate.resolve());
  return { ...smtp, open: gate.resolve, begun };
}

/** Pages that mail through this server, and a pending key of Ada. */
async function pendingKey({ port }: { port: number }) {
  const world = await adminPages({ MAIL_URL: `smtp://127.0.0.1:${port}`, MAIL_FROM: 'keys@example.net' });
  const { access, grace } = world;
  const identifier = await request(access, { profile: 'ada' });
  const see = () => grace.see(`/keys/${identifier}`);
  const approve = async () => grace.press(await see(), 'Approve');
  const ended = () => eventually(() => showKey(access, identifier).attempt?.result !== 'open');
  const logged = () => JSON.stringify(world.server.log);
  return { ...world, identifier, see, approve, ended, logged };
}

describe('the page of a key shows how its approval goes', () => {
  test('while the e-mail is on its way, and once it was accepted', async () => {
    const smtp = await slowSmtp();
    const { access, clock, grace, identifier, see, approve, ended, signIn, logged } = await pendingKey(smtp);
    const hopper = await signIn('Hopper');
    const theirs = await hopper.see(`/keys/${identifier}`);
    expect((await approve()).status).toBe(303);
    await eventually(() => smtp.begun.length === 1);
    record('on its way', await see());
    record('on its way: the queue', await grace.see(`?decided=${identifier}`));
    // The second admin reads who is at it, and can't begin a second attempt.
    const second = await hopper.press(theirs, 'Approve');
    expect([second.status, second.body.includes('admin Grace')]).toEqual([503, true]);
    expect(showKey(access, identifier)).toMatchObject({ state: 'pending', attempt: { number: 1 } });
    smtp.open();
    await ended();
    record('accepted', await see());
    record('accepted: the queue', await grace.see(`?decided=${identifier}`));
    expect([showKey(access, identifier).state, smtp.received.length]).toEqual(['Active', 1]);
    expect(logged()).not.toMatch(/"(warn|error)"/);
    // For an hour; then only the history has it.
    clock.advance(59 * 60_000);
    const late = await signIn('Lovelace');
    const isShown = async () => (await late.see(`/keys/${identifier}`)).body.includes(': the key works.');
    expect(await isShown()).toBe(true);
    clock.advance(60_000);
    expect(await isShown()).toBe(false);
  });

  test('if the mail server refuses the e-mail, with its reason for admins, but not for owners and not in the log', async () => {
    const failures: { rcpt?: string } = { rcpt: '550 5.1.1 mailbox of the marked-server is full' };
    const { access, identifier, see, approve, ended, logged } = await pendingKey(await startSmtp({ failures }));
    await approve();
    await ended();
    record('refused', await see());
    expect(keyHistory(access, identifier).at(-1)).toMatchObject({
      event: 'approval refused',
      detail: { attempt: 1, reason: expect.stringContaining('marked-server') },
    });
    expect(JSON.stringify(keyHistory(access, identifier, 'owner'))).not.toContain('marked-server');
    const message = `Key ${identifier} was approved, but did not become Active; its page says why.`;
    await eventually(() => logged().includes(message));
    expect(logged()).not.toMatch(/marked-server|ada@/);
    // Approving again, once the mailbox has room, makes the key work.
    delete failures.rcpt;
    await approve();
    await eventually(() => showKey(access, identifier).state === 'Active');
    expect(showKey(access, identifier).attempt?.number).toBe(2);
  });

  test('as not confirmed if the connection was lost when the mail server may have accepted the e-mail', async () => {
    const { access, identifier, see, approve, ended } = await pendingKey(await startBrokenSmtp({ dot: 'close' }));
    await approve();
    await ended();
    record('not confirmed', await see());
    expect(showKey(access, identifier).state).toBe('pending');
  });

  test('if another admin rejected it meanwhile: who did, and that the secret never works', async () => {
    const smtp = await slowSmtp();
    const { access, identifier, see, approve, ended, signIn, clock } = await pendingKey(smtp);
    await approve();
    await eventually(() => smtp.begun.length === 1);
    const hopper = await signIn('Hopper');
    const asked = await hopper.press(await hopper.see(`/keys/${identifier}`), 'Reject…');
    await hopper.press(asked, 'Reject it', { reason: 'Not this one.' });
    smtp.open();
    await ended();
    record('rejected meanwhile', await see());
    expect(showKey(access, identifier).state).toBe('rejected');
    // An hour later, only the history shows it.
    clock.advance(3_600_000);
    const later = await (await signIn('Curie')).see(`/keys/${identifier}`);
    expect(/data-result="[^"]*"><\/div>/.test(later.body)).toBe(true);
  });

  test('if the e-mail address was changed meanwhile: the attempt is void and the request stays pending', async () => {
    const smtp = await slowSmtp();
    const { access, identifier, see, approve, ended } = await pendingKey(smtp);
    await approve();
    await eventually(() => smtp.begun.length === 1);
    await importLines(access, [{ ...ADA, email: 'other@example.org' }]);
    smtp.open();
    await ended();
    record('the address was changed meanwhile', await see());
    expect(showKey(access, identifier).state).toBe('pending');
  });
});

/** Pages, and requests of different profiles, oldest first. */
async function queueOf(count: number, variables: Record<string, string> = {}) {
  const world = await adminPages(variables);
  const keys: string[] = [];
  for (let n = 0; n < count; n++) {
    await importLines(world.access, [{ id: 100 + n, username: `user${n}`, email: `user${n}@example.org` }]);
    keys.push(await request(world.access, { profile: `user${n}`, name: `Bot ${n}` }));
    world.clock.advance(1);
  }
  const states = () => keys.map((key) => showKey(world.access, key).state);
  return { ...world, keys, states };
}

const APPROVE_ALL = 'Approve as requested';
const REJECT_ALL = 'Reject…';

describe('several requests', () => {
  test('are approved as requested, and the outcomes stand above the queue, which no longer has them', async () => {
    const { access, grace, keys, states } = await queueOf(2);
    const limits = [{ quota: 7, windowSeconds: 60 }];
    const { identifier: old } = await issue(access, { profile: 'ada' }, { rateLimits: limits });
    const successor = await request(access, { profile: 'ada', name: 'Next', successorOf: old });
    const answer = await grace.press(await grace.see(), APPROVE_ALL, { chosen: [...keys, successor] });
    expect(answer.status).toBe(303);
    await eventually(() => [...states(), showKey(access, successor).state].every((state) => state === 'Active'));
    record('several were approved', await grace.see(answer.location?.replace('/developers/admin', '')));
    for (const key of [...keys, successor]) {
      expect(mailedSecrets(access, key)).toHaveLength(1);
      expect(keyHistory(access, key).at(-1)?.by).toBe('admin Grace');
    }
    expect(showKey(access, keys[0] as string)).toMatchObject({
      permissions: ['api.lookup'],
      expiresAt: null,
      rateLimits: [
        { quota: 60, windowSeconds: 60 },
        { quota: 5000, windowSeconds: 86_400 },
      ],
    });
    // A successor gets the limits of the key that it replaces.
    expect(showKey(access, successor).rateLimits).toEqual(limits);
  });

  test('are rejected with one reason, asked for once on a page that shows each whole', async () => {
    const { access, grace, keys, states } = await queueOf(3);
    const asked = await grace.press(await grace.see(), REJECT_ALL, { chosen: keys.slice(1) });
    record('several are to be rejected', asked);
    expect(states()).toEqual(['pending', 'pending', 'pending']);
    const cancelled = /<a class="button bare" href="\/developers\/admin([^"]+)">/
      .exec(asked.body)?.[1]
      ?.replaceAll('&amp;', '&');
    expect((await grace.see(cancelled)).body.match(/ checked>/g)).toHaveLength(2);
    const empty = await grace.press(asked, 'Reject 2 requests', { reason: ' ' });
    expect([empty.status, empty.refusal]).toEqual([422, 'refused_form']);
    const done = await grace.press(empty, 'Reject 2 requests', { reason: 'Say more.' });
    record('several were rejected', await grace.see(done.location?.replace('/developers/admin', '')));
    expect(states()).toEqual(['pending', 'rejected', 'rejected']);
    expect(keyHistory(access, keys[2] as string).at(-1)?.detail).toEqual({ reason: 'Say more.' });
  });

  test('can be a full page of the queue with the longest reason', async () => {
    const { grace, keys, states } = await queueOf(50);
    const asked = await grace.press(await grace.see(), REJECT_ALL, { chosen: keys });
    await grace.press(asked, 'Reject 50 requests', { reason: '語'.repeat(2_000) });
    expect(new Set(states())).toEqual(new Set(['rejected']));
  });

  test('are left alone by the button of a row, which is for its request alone', async () => {
    const { grace, keys, states } = await queueOf(3);
    const answer = await grace.press(await grace.see(), 'Approve Bot 0', { chosen: keys.slice(1) });
    expect(answer.location).toBe(`/developers/admin?decided=${keys[0]}`);
    await eventually(() => states()[0] === 'Active');
    expect(states()).toEqual(['Active', 'pending', 'pending']);
  });

  test('without one, with a malformed or unshown one, or with two buttons: nothing is decided', async () => {
    const { access, grace, keys } = await queueOf(2);
    const queue = await grace.see();
    expect((await grace.press(queue, APPROVE_ALL)).status).toBe(422);
    for (const changes of [{ chosen: '<b>' }, { chosen: keys, reject: '' }, { chosen: keys, shown: [] }]) {
      expect((await grace.press(queue, APPROVE_ALL, changes)).refusal).toBe('bad_form');
    }
    expect(keys.map((key) => showKey(access, key).attempt)).toEqual([null, null]);
  });

  test('of which some have changed since the queue was shown: those are not decided on, the others are', async () => {
    const { access, grace, keys, states } = await queueOf(5);
    const [renamed = '', rejected = '', , moved = ''] = keys;
    const queue = await grace.see();
    await perform(access, onBox('owner'), OPERATIONS.edit, { identifier: renamed, name: 'Another name' });
    await perform(access, onBox('root'), OPERATIONS.reject, { identifier: rejected, reason: 'No.' });
    await importLines(access, [
      { id: 102, username: 'user2', email: 'user2@example.org', banned: true },
      { id: 103, username: 'user3', email: 'new@example.org' },
    ]);
    // The queue has no box for a request whose address has changed.
    const now = await grace.see();
    expect([
      now.body.includes(`name="chosen" value="${moved}"`),
      queue.body.includes(`name="chosen" value="${moved}"`),
    ]).toEqual([false, true]);
    const answer = await grace.press(queue, APPROVE_ALL, { chosen: keys });
    await eventually(() => states()[4] === 'Active');
    record('some had changed', await grace.see(answer.location?.replace('/developers/admin', '')));
    expect(states()).toEqual(['pending', 'rejected', 'pending', 'pending', 'Active']);
    expect(keys.slice(0, 4).map((key) => showKey(access, key).attempt)).toEqual([null, null, null, null]);
  });

  test('that two admins approve at once are approved once each', async () => {
    const { access, grace, keys, states, signIn } = await queueOf(4);
    const hopper = await signIn('Hopper');
    const [ours, theirs] = [await grace.see(), await hopper.see()];
    const chosen = { chosen: keys };
    await Promise.all([grace.press(ours, APPROVE_ALL, chosen), hopper.press(theirs, APPROVE_ALL, chosen)]);
    await eventually(() => states().every((state) => state === 'Active'));
    for (const key of keys) {
      expect(mailedSecrets(access, key)).toHaveLength(1);
      expect(keyHistory(access, key).filter(({ event }) => event === 'approval started')).toHaveLength(1);
    }
  });

  test('are mailed five at a time', async () => {
    const smtp = await slowSmtp();
    const MAIL = { MAIL_URL: `smtp://127.0.0.1:${smtp.port}`, MAIL_FROM: 'keys@example.net' };
    const { access, grace, keys } = await queueOf(7, MAIL);
    const answer = await grace.press(await grace.see(), APPROVE_ALL, { chosen: keys });
    await eventually(() => smtp.begun.length === 5);
    record('seven are being mailed', await grace.see(answer.location?.replace('/developers/admin', '')));
    expect(smtp.begun).toHaveLength(5);
    expect(keys.map((key) => showKey(access, key).attempt?.result)).toEqual(Array(7).fill('open'));
    smtp.open();
    await eventually(() => keys.every((key) => showKey(access, key).state === 'Active'));
  });

  test('that waited so long for other mails that their own could outlast the lease are not mailed, and can be approved again', async () => {
    const smtp = await slowSmtp();
    const MAIL = { MAIL_URL: `smtp://127.0.0.1:${smtp.port}`, MAIL_FROM: 'keys@example.net' };
    const { access, clock, grace, keys, states } = await queueOf(6, MAIL);
    await grace.press(await grace.see(), APPROVE_ALL, { chosen: keys });
    await eventually(() => smtp.begun.length === 5);
    clock.advance(60_001);
    smtp.open();
    const last = keys[5] as string;
    await eventually(() => showKey(access, last).attempt?.result !== 'open');
    expect(keyHistory(access, last).at(-1)).toMatchObject({
      event: 'approval refused',
      detail: { reason: expect.stringContaining('too slow'), isTemporary: true },
    });
    await grace.press(await grace.see(), 'Approve Bot 5');
    await eventually(() => states().every((state) => state === 'Active'));
    expect(smtp.received.filter(({ to }) => to[0] === 'user5@example.org')).toHaveLength(1);
  });

  test('of an admin who is removed meanwhile are not decided on', async () => {
    const { access, grace, keys } = await queueOf(2);
    const queue = await grace.see();
    removeAdmin(access, findAdmin(access.db, 'Grace'), onBox('root'));
    expect(await grace.press(queue, APPROVE_ALL, { chosen: keys })).toMatchObject({
      status: 403,
      refusal: 'signed_out',
    });
    expect(keys.map((key) => showKey(access, key).attempt)).toEqual([null, null]);
  });
});

describe('when the server stops', () => {
  test('no approval starts, and the form comes back as it was sent', async () => {
    const { access, grace, server } = await adminPages();
    const identifier = await request(access, { profile: 'ada' });
    const page = await grace.see(`/keys/${identifier}`);
    server.service.isStopping = true;
    const answer = await grace.press(page, 'Approve', { rateLimits: 'other', rateLimitsOther: '61' });
    expect([answer.status, answer.body.includes('value="61"')]).toEqual([503, true]);
    expect(showKey(access, identifier)).toMatchObject({ state: 'pending', attempt: null });
    // Rejecting needs no mail server to answer.
    const asked = await grace.press(page, 'Reject…');
    expect((await grace.press(asked, 'Reject it', { reason: 'No.' })).status).toBe(303);
  });
});
