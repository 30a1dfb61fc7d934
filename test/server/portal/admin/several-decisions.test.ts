import { describe, expect, test } from 'bun:test';
import { settleBackground, stopBackground } from '../../../../server/background.ts';
import { removeAdmin } from '../../../../shared/admins/admins.ts';
import { rejectKey } from '../../../../shared/keys/life/lifecycle.ts';
import { keyRevision } from '../../../../shared/keys/revision.ts';
import { keyHistory, showKey } from '../../../../shared/keys/view.ts';
import { OPERATIONS, perform } from '../../../../shared/operations.ts';
import { onBox } from '../../../support/actors.ts';
import { eventually } from '../../../support/eventually.ts';
import { changeByHand, importLines } from '../../../support/import.ts';
import { issue, mailedSecrets, request } from '../../../support/keys.ts';
import { startSmtp } from '../../../support/mail/smtp.ts';
import { adminWorld, hiddenIn, type SignedInAdmin, signInAdmin, textOf } from '../../../support/portal/admin-pages.ts';
import { ask, type PageAnswer, type PageWorld, valuesOf } from '../../../support/portal/pages.ts';
import { insertProfile } from '../../../support/profiles.ts';

// Several requests decided on together, each as the queue showed it and each by itself.

const QUEUE = '/developers/admin';

/** Pages, an admin, and requests of different profiles, oldest first. */
async function queueOf(count: number, variables: Record<string, string> = {}) {
  const world = await adminWorld(variables);
  const grace = await signInAdmin(world, 'Grace');
  const keys: string[] = [];
  for (let n = 0; n < count; n++) {
    const id = 100 + n;
    insertProfile(world.access.db, { id, email: `user${id}@example.org` });
    keys.push(await request(world.access, { profile: `user${id}`, name: `Bot ${n}` }));
    world.clock.advance(1);
  }
  return { world, grace, keys };
}

const send = (world: PageWorld, { cookie }: SignedInAdmin, form: [string, string][]) =>
  ask(world, `${QUEUE}/decide`, { cookie, form });

/** What the form of the queue sends with these requests chosen, without a button. */
const chosenIn = ({ access }: PageWorld, keys: readonly string[]) =>
  keys.flatMap((key): [string, string][] => [
    ['chosen', key],
    ['shown', `${key} ${keyRevision(access.db, key)}`],
  ]);

const outcomesOf = async (world: PageWorld, { cookie }: SignedInAdmin, answer: PageAnswer) => {
  const [path = ''] = valuesOf(answer, 'location');
  expect([answer.status, path]).toEqual([303, expect.stringMatching(/^\/developers\/admin\?/)]);
  return ask(world, path, { cookie });
};

test('requests are approved as requested, and the outcomes stand above the queue, which no longer has them', async () => {
  const { world, grace, keys } = await queueOf(6);
  const { access } = world;
  const { identifier: old } = await issue(
    access,
    { profile: 'ada' },
    { rateLimits: [{ quota: 7, windowSeconds: 60 }] },
  );
  const successor = await request(access, { profile: 'ada', name: 'Next', successorOf: old });
  const all = [...keys, successor];
  const answer = await send(world, grace, [...chosenIn(world, all), ['approve', '']]);
  await settleBackground(world.services.background);
  const outcomes = await outcomesOf(world, grace, answer);
  expect(textOf(outcomes)).toContain('7 mailed');
  expect(textOf(outcomes)).toContain('No requests are waiting.');
  for (const key of all) {
    expect([showKey(access, key).state, mailedSecrets(access, key).length]).toEqual(['Active', 1]);
    expect(keyHistory(access, key).at(-1)?.by).toBe('admin Grace');
    expect(outcomes.body).not.toContain(`id="row-${key}"`);
  }
  expect(showKey(access, keys[0] as string)).toMatchObject({
    ...{ permissions: ['api.lookup'], expiresAt: null },
    rateLimits: [
      { quota: 60, windowSeconds: 60 },
      { quota: 5000, windowSeconds: 86_400 },
    ],
  });
  // A successor gets the limits of the key that it replaces.
  expect(showKey(access, successor).rateLimits).toEqual([{ quota: 7, windowSeconds: 60 }]);
  expect(world.events).toEqual([]);
});

test('requests are rejected with one reason, asked for once on a page that shows each whole', async () => {
  const { world, grace, keys } = await queueOf(4);
  const [own = '', ...others] = keys;
  const asked = await send(world, grace, [...chosenIn(world, others), ['reject', '']]);
  expect(asked.status).toBe(200);
  for (const part of ['Reject 3 requests?', 'Bot 1', 'Bot 2', 'Bot 3']) expect(textOf(asked)).toContain(part);
  expect(asked.body.match(/<button class="danger">Reject 3 requests</g)?.length).toBe(1);
  expect(others.map((key) => showKey(world.access, key).state)).toEqual(['pending', 'pending', 'pending']);
  const empty = await send(world, grace, [...hiddenIn(asked), ['reason', ' ']]);
  expect([empty.status, empty.refusal, empty.body.includes('<a href="#reason">')]).toEqual([422, 'refused_form', true]);
  const answer = await send(world, grace, [...hiddenIn(empty), ['reason', 'Say more.']]);
  expect(textOf(await outcomesOf(world, grace, answer))).toContain('3 rejected');
  for (const key of others) {
    expect(keyHistory(world.access, key).at(-1)).toMatchObject({ event: 'rejected', detail: { reason: 'Say more.' } });
  }
  expect(showKey(world.access, own).state).toBe('pending');
});

test('the button of a row is for its request alone, whatever else is chosen', async () => {
  const { world, grace, keys } = await queueOf(3);
  const [first = '', ...others] = keys;
  const answer = await send(world, grace, [
    ...chosenIn(world, others),
    ...chosenIn(world, [first]),
    ['approve', first],
  ]);
  await settleBackground(world.services.background);
  expect(valuesOf(answer, 'location')).toEqual([`${QUEUE}?decided=${first}`]);
  expect(keys.map((key) => showKey(world.access, key).state)).toEqual(['Active', 'pending', 'pending']);
});

test('a full page of the queue with the longest reason fits in the form', async () => {
  const { world, grace, keys } = await queueOf(50);
  const reason = '語'.repeat(2_000);
  const answer = await send(world, grace, [...chosenIn(world, keys), ['reject', ''], ['reason', reason]]);
  expect(textOf(await outcomesOf(world, grace, answer))).toContain('50 rejected');
  expect(keyHistory(world.access, keys[49] as string).at(-1)?.detail).toEqual({ reason });
});

test('without a request, with a malformed or unshown one, or with two buttons, nothing is decided', async () => {
  const { world, grace, keys } = await queueOf(2);
  const none = await send(world, grace, [['approve', '']]);
  expect([none.status, textOf(none).includes('Choose at least one request.')]).toEqual([422, true]);
  const chosen = chosenIn(world, keys);
  for (const form of [
    [...chosen, ['chosen', '<b>'], ['approve', '']],
    [...chosen, ['approve', ''], ['reject', '']],
    chosen,
    [...chosen.filter(([name]) => name === 'chosen'), ['approve', '']],
  ] as [string, string][][]) {
    expect((await send(world, grace, form)).refusal).toBe('bad_form');
  }
  expect(keys.map((key) => showKey(world.access, key).attempt)).toEqual([null, null]);
});

test('what has changed since the queue was shown is not decided on, and what can’t be approved is refused; the others are', async () => {
  const { world, grace, keys } = await queueOf(6);
  const { access } = world;
  const [renamed = '', rejected = '', banned = '', moved = '', ...fine] = keys;
  await importLines(access, [{ id: 103, username: 'user103', email: 'new@example.org' }]);
  // The queue has no box for a request whose address has changed, and its own button leads to its page.
  const { body } = await ask(world, QUEUE, { cookie: grace.cookie });
  expect([body.includes(`name="chosen" value="${moved}"`), body.includes(`name="chosen" value="${fine[0]}"`)]).toEqual([
    false,
    true,
  ]);
  const chosen = chosenIn(world, keys);
  await perform(access, onBox('owner'), OPERATIONS.edit, { identifier: renamed, name: 'Another name' });
  rejectKey(access, { identifier: rejected, reason: 'No.', by: onBox('root') });
  changeByHand(access, 'user102', { banned: true });
  const answer = await send(world, grace, [...chosen, ['approve', '']]);
  await settleBackground(world.services.background);
  const text = textOf(await outcomesOf(world, grace, answer));
  expect(text).toContain('2 mailed, 1 changed, 3 refused');
  expect(text).toContain('Another name (user100) changed This has changed since you opened it, so nothing was done.');
  expect(text).toContain(`Key ${rejected} is rejected; only pending keys can be approved.`);
  expect(text).toContain("The profile user102 is banned; it can't have keys.");
  expect(text).toContain(`The e-mail address of the profile was changed since key ${moved} was requested`);
  expect(fine.map((key) => showKey(access, key).state)).toEqual(['Active', 'Active']);
  expect([renamed, banned, moved].map((key) => showKey(access, key).attempt)).toEqual([null, null, null]);
});

test('two admins who approve the same list at once approve each key once', async () => {
  const { world, grace, keys } = await queueOf(5);
  const hopper = await signInAdmin(world, 'Hopper');
  const form: [string, string][] = [...chosenIn(world, keys), ['approve', '']];
  await Promise.all([send(world, grace, form), send(world, hopper, form)]);
  await settleBackground(world.services.background);
  for (const key of keys) {
    expect([showKey(world.access, key).state, mailedSecrets(world.access, key).length]).toEqual(['Active', 1]);
    expect(keyHistory(world.access, key).filter(({ event }) => event === 'approval started').length).toBe(1);
  }
});

test('once the admin is removed, nothing more is decided in their name', async () => {
  const { world, grace, keys } = await queueOf(3);
  const { mailer } = world.access;
  let asked = 0;
  // An approval asks for the mailer before it writes.
  world.services.access.mailer = async () => {
    if (++asked === 2) removeAdmin(world.access, 'Grace', onBox('root'));
    return mailer();
  };
  const answer = await send(world, grace, [...chosenIn(world, keys), ['approve', '']]);
  expect([answer.status, answer.refusal]).toEqual([403, 'signed_out']);
  expect(keys.slice(1).map((key) => showKey(world.access, key).attempt)).toEqual([null, null]);
});

describe('while the e-mails are on their way', () => {
  /** Approvals through a mail server that accepts the messages it holds when `release` is called. */
  async function slow(count: number) {
    const open = Promise.withResolvers<void>();
    let begun = 0;
    const smtp = await startSmtp({
      onMessage: () => {
        begun++;
        return open.promise;
      },
    });
    const made = await queueOf(count, { MAIL_URL: `smtp://127.0.0.1:${smtp.port}`, MAIL_FROM: 'keys@example.net' });
    const answer = await send(made.world, made.grace, [...chosenIn(made.world, made.keys), ['approve', '']]);
    const arrived = async (wanted: number) => {
      await eventually(() => begun >= wanted);
    };
    return { ...made, begun: () => begun, answer, arrived, release: open.resolve };
  }

  test('five are sent at a time, and outcomes and rows say who is mailing', async () => {
    const { world, grace, keys, answer, arrived, release, begun } = await slow(7);
    await arrived(5);
    expect(begun()).toBe(5);
    const during = await outcomesOf(world, grace, answer);
    expect(textOf(during)).toContain('7 mailing');
    expect(during.body).toContain('data-result="open"');
    expect(textOf(during).match(/admin Grace is approving it: the e-mail is on its way\./g)?.length).toBe(7);
    for (const key of keys) expect(during.body).not.toContain(`value="${key}"`);
    release();
    await settleBackground(world.services.background);
    const after = await outcomesOf(world, grace, answer);
    expect([textOf(after).includes('7 mailed'), after.body.includes('data-result="open"')]).toEqual([true, false]);
  });

  test('a server that stops stores those in progress as not confirmed, and the outcomes say so', async () => {
    const { world, grace, keys, answer, arrived } = await slow(2);
    await arrived(2);
    await stopBackground(world.services.background, 10);
    expect(keys.map((key) => showKey(world.access, key).attempt?.result)).toEqual(['not confirmed', 'not confirmed']);
    const text = textOf(await outcomesOf(world, grace, answer));
    expect(text).toContain('2 refused');
    expect(text).toContain('it is not known whether the e-mail with the secret was delivered');
  });
});
