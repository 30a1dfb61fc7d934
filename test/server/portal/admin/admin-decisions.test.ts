import { expect, test } from 'bun:test';
import { settleBackground } from '../../../../server/background.ts';
import { beginApproval } from '../../../../shared/approval/approve.ts';
import { rejectKey } from '../../../../shared/keys/life/lifecycle.ts';
import { keyRevision } from '../../../../shared/keys/revision.ts';
import { keyHistory, showKey } from '../../../../shared/keys/view.ts';
import { onBox } from '../../../support/actors.ts';
import { eraseProfile } from '../../../support/erase.ts';
import { changeByHand } from '../../../support/import.ts';
import { issue, keyIn, mailedSecrets, mails, moveByAdmin, request } from '../../../support/keys.ts';
import {
  APPROVAL,
  adminWorld,
  decideAs,
  hiddenIn,
  keyPageOf,
  sendDecision,
  shownTo,
  signInAdmin,
  textOf,
} from '../../../support/portal/admin-pages.ts';
import { useKey } from '../../../support/portal/owner-pages.ts';
import { type PageWorld, valuesOf, visit } from '../../../support/portal/pages.ts';

// Admins decide on keys as their pages showed them, and on nothing else.

const ADA = { profile: 'ada' };

/** Everything that a decision could have changed. */
const traces = ({ access }: PageWorld) =>
  JSON.stringify([
    ...['api_keys', 'key_events', 'key_attempts', 'mails', 'passkeys'].map((table) =>
      access.db.$client.query(table === 'passkeys' ? 'SELECT id, name FROM passkeys' : `SELECT * FROM ${table}`).all(),
    ),
    mails(access),
  ]);

test('an approval is carried out at once, and the key has what was granted', async () => {
  const world = await adminWorld();
  const grace = await signInAdmin(world, 'Grace');
  const { access } = world;
  const identifier = await request(access, { ...ADA, permissions: ['api.lookup', 'api.leaderboard'] });
  const form: [string, string][] = [
    ['operation', 'approve'],
    ['permissions', 'api.leaderboard'],
    ['rateLimits', '7/1m, 90/1d'],
    ['expires', '90d'],
    ['retireOld', ''],
    ['shown', await shownTo(world, grace, identifier)],
  ];
  const answer = await sendDecision(world, grace, identifier, form);
  expect([answer.status, valuesOf(answer, 'location')]).toEqual([303, [`/developers/admin?decided=${identifier}`]]);
  await settleBackground(world.services.background);
  expect(showKey(access, identifier)).toMatchObject({
    state: 'Active',
    permissions: ['api.leaderboard'],
    rateLimits: [
      { quota: 7, windowSeconds: 60 },
      { quota: 90, windowSeconds: 86_400 },
    ],
    expiresAt: '2026-04-01T00:00:00.000Z',
  });
  expect(keyHistory(access, identifier).at(-1)?.by).toBe('admin Grace');
  expect(mailedSecrets(access, identifier).length).toBe(1);
});

test('the page of a request says how long it has been pending, and lists the profile’s other keys with their usage', async () => {
  const world = await adminWorld();
  const { access, clock } = world;
  const identifier = await request(access, ADA);
  clock.advance(2 * 86_400_000);
  const grace = await signInAdmin(world, 'Grace');
  const read = async () => textOf(await keyPageOf(world, grace, identifier));
  expect(await read()).toContain('(UID 7) · pending for 2 days · ');
  expect(await read()).toContain('Other keys none, now or before');
  const { identifier: other } = await issue(access, { ...ADA, name: 'Old bot' });
  await keyIn('rejected', { ...access, clock }, 'ada');
  useKey(access, other, 1, 90);
  await request(access, ADA);
  expect(await read()).toContain('Other keys 1 pending, 1 Active or suspended, 1 ended');
  expect(await read()).toContain('Old bot: 138 requests in the last 30 days, 67% answered');
});

test('the approval of a successor ends the replaced key at the time shown', async () => {
  const world = await adminWorld();
  const grace = await signInAdmin(world, 'Grace');
  const { identifier: old } = await issue(world.access, ADA);
  const identifier = await request(world.access, { ...ADA, successorOf: old });
  const fields = APPROVAL.map(([name, value]): [string, string] => [name, name === 'retireOld' ? '7d' : value]);
  await decideAs(world, grace, identifier, fields);
  await settleBackground(world.services.background);
  expect(showKey(world.access, old).expiresAt).toBe('2026-01-08T00:00:00.000Z');
  // Histories and the log format times for pages, not for terminals.
  const log = await visit(world, '/developers/admin/log', { cookie: grace.cookie });
  for (const page of [await keyPageOf(world, grace, old), await keyPageOf(world, grace, identifier), log]) {
    expect(textOf(page)).toContain('2026-01-08 00:00 UTC');
    expect(textOf(page)).not.toContain('.000Z');
  }
});

test('a decision on a request leads back to the queue; any other decision leads back to its key', async () => {
  const world = await adminWorld();
  const grace = await signInAdmin(world, 'Grace');
  const { access, clock } = world;
  const first = await request(access, ADA);
  clock.advance(1);
  const second = await request(access, ADA);
  const page = await keyPageOf(world, grace, first);
  expect(page.body).toContain(`1 of 2 · <a href="/developers/admin/keys/${second}">Next</a></p>`);
  const last = await keyPageOf(world, grace, second);
  expect(last.body).toContain(`2 of 2 · <a href="/developers/admin/keys/${first}">Previous</a></p>`);
  const reject = (identifier: string) =>
    decideAs(world, grace, identifier, [
      ['operation', 'reject'],
      ['reason', 'Say more\nof <it>.'],
    ]);
  expect(valuesOf(await reject(first), 'location')).toEqual([`/developers/admin?decided=${first}`]);
  expect(valuesOf(await reject(second), 'location')).toEqual([`/developers/admin?decided=${second}`]);
  expect(keyHistory(access, first).at(-1)).toMatchObject({
    by: 'admin Grace',
    detail: { reason: 'Say more\nof <it>.' },
  });
  const { identifier } = await issue(access, ADA);
  await request(access, ADA);
  const own = await keyPageOf(
    world,
    grace,
    (await issue(access, ADA, { rateLimits: [{ quota: 7, windowSeconds: 60 }] })).identifier,
  );
  expect(textOf(own)).toContain('7 per minute (current) 60 per minute, 5 000 per day (default) other');
  const back = [`/developers/admin/keys/${identifier}`];
  const changed = await decideAs(world, grace, identifier, [
    ['operation', 'change'],
    ['permissions', 'api.lookup'],
    ['permissions', 'api.leaderboard'],
    ['rateLimits', '5/1h'],
    ['expires', '2026-02-01'],
  ]);
  expect([changed.status, valuesOf(changed, 'location')]).toEqual([303, back]);
  expect(showKey(access, identifier)).toMatchObject({
    permissions: ['api.lookup', 'api.leaderboard'],
    rateLimits: [{ quota: 5, windowSeconds: 3_600 }],
    expiresAt: '2026-02-01T00:00:00.000Z',
  });
  const revoked = await decideAs(world, grace, identifier, [
    ['operation', 'revoke'],
    ['reason', 'Leaked.'],
  ]);
  expect(valuesOf(revoked, 'location')).toEqual(back);
  expect(showKey(access, identifier).state).toBe('revoked');
  const ends = {
    [first]: /rejected just now by admin Grace · \w{8} The reason: Say more of <it>\. /,
    [identifier]: /revoked just now by admin Grace · \w{8} The reason: Leaked\. /,
  };
  for (const [key, words] of Object.entries(ends)) {
    const ended = textOf(await keyPageOf(world, grace, key));
    expect(ended).toMatch(words);
    expect(ended).not.toContain('Expires');
  }
  // An unknown identifier or any other text is ignored.
  for (const decided of ['00000000', '<b>']) {
    const path = `/developers/admin?decided=${encodeURIComponent(decided)}&refused=${encodeURIComponent(decided)}`;
    const shown = await visit(world, path, { cookie: grace.cookie });
    expect([shown.status, shown.body.includes('id="decided"')]).toEqual([200, false]);
  }
});

test('a key is suspended with a reason, on a page that asks once more and says which programs stop', async () => {
  const world = await adminWorld();
  const { access } = world;
  const grace = await signInAdmin(world, 'Grace');
  const { identifier } = await issue(access, ADA);
  const state = () => showKey(access, identifier).state;
  const suspension: [string, string][] = [
    ['operation', 'suspend'],
    ['reason', 'Too fast.'],
  ];
  const asking = (operation: string) => decideAs(world, grace, identifier, [['operation', operation]]);
  useKey(access, identifier, 1, 2_000);
  const stops = 'Programs that use “Bot” lose access at once; the API answered 2 003 requests with it today.';
  const page = await asking('suspend');
  for (const part of ['Suspend “Bot”?', 'refused until it is resumed', stops]) expect(textOf(page)).toContain(part);
  expect([page.body.match(/<button class="danger">Suspend it</g)?.length, state()]).toEqual([1, 'Active']);
  const done = await decideAs(world, grace, identifier, suspension);
  expect([done.status, state()]).toEqual([303, 'suspended']);
  expect(keyHistory(access, identifier).at(-1)).toMatchObject({ by: 'admin Grace', detail: { reason: 'Too fast.' } });
  const [next = ''] = valuesOf(done, 'location');
  const [flash = ''] = valuesOf(done, 'set-cookie').filter((cookie) => cookie.startsWith('flash='));
  const shown = await visit(world, next, { cookie: `${grace.cookie}; ${flash.split(';')[0]}` });
  expect(textOf(shown)).toContain('Key suspended. Its owner gets the reason by e-mail.');
  expect(textOf(shown)).toMatch(/ suspended for less than a minute by admin Grace · \w{8} The reason: Too fast\. /);
  // No program stops if the key does not work anyway.
  expect(textOf(await asking('revoke'))).not.toContain('lose access at once');
});

test('a change to what the key already has is refused', async () => {
  const world = await adminWorld();
  const grace = await signInAdmin(world, 'Grace');
  const { identifier } = await issue(world.access, ADA, { rateLimits: [{ quota: 60, windowSeconds: 60 }] });
  const change = (rateLimits: string) =>
    decideAs(world, grace, identifier, [
      ['operation', 'change'],
      ['permissions', 'api.lookup'],
      ['rateLimits', rateLimits],
      ['expires', ''],
    ]);
  const before = traces(world);
  // The same limit in another notation.
  const same = await change('60/60s');
  expect([same.status, traces(world)]).toEqual([422, before]);
  expect(textOf(same)).toContain('The key already has these values; nothing would change.');
  expect((await change('61/60s')).status).toBe(303);
});

test('a decision on a key that has changed since its page was shown is refused, and the page comes back as it is now', async () => {
  const world = await adminWorld();
  const grace = await signInAdmin(world, 'Grace');
  const { identifier: old } = await issue(world.access, ADA);
  const identifier = await request(world.access, { ...ADA, successorOf: old });
  const other = await request(world.access, { ...ADA });
  const shown = await shownTo(world, grace, identifier);
  const hopper = await signInAdmin(world, 'Hopper');
  await decideAs(world, hopper, old, [
    ['operation', 'revoke'],
    ['reason', 'Leaked.'],
  ]);
  const before = traces(world);
  const answer = await sendDecision(world, grace, identifier, [...APPROVAL, ['shown', shown]]);
  expect([answer.status, answer.refusal]).toEqual([409, 'changed_since']);
  expect(textOf(answer)).toContain('This has changed since you opened it, so nothing was done.');
  // Neither is a version of another key, or none.
  for (const version of [await shownTo(world, grace, other), '']) {
    const refused = await sendDecision(world, grace, identifier, [...APPROVAL, ['shown', version]]);
    expect(refused.refusal).toBe('changed_since');
  }
  expect(traces(world)).toBe(before);
  const again = /name="shown" value="([^"]+)"/.exec(answer.body)?.[1] ?? '';
  expect((await sendDecision(world, grace, identifier, [...APPROVAL, ['shown', again]])).status).toBe(303);
});

test('an impossible decision is refused, with what was typed and the rule at its field', async () => {
  const world = await adminWorld();
  const grace = await signInAdmin(world, 'Grace');
  const { access } = world;
  const identifier = await request(access, ADA);
  const wrong = await decideAs(world, grace, identifier, [
    ['operation', 'approve'],
    ['rateLimits', '60 a minute'],
    ['expires', 'yesterday'],
    ['retireOld', ''],
  ]);
  expect([wrong.status, wrong.refusal]).toEqual([422, 'refused_form']);
  for (const name of ['permissions', 'rateLimits', 'expires']) expect(wrong.body).toContain(`<a href="#${name}">`);
  expect(wrong.body).toContain('value="60 a minute"');
  expect(wrong.body).toContain('value="yesterday"');
  const empty = await decideAs(world, grace, identifier, [
    ['operation', 'reject'],
    ['reason', ' '],
  ]);
  expect([empty.status, empty.body.includes('<a href="#reason">')]).toEqual([422, true]);
  expect((await decideAs(world, grace, identifier, [['operation', 'remove passkey']])).refusal).toBe('bad_form');
  rejectKey(access, { identifier, reason: 'No.', by: onBox('root') });
  const late = await sendDecision(world, grace, identifier, [
    ...APPROVAL,
    ['shown', keyRevision(access.db, identifier)],
  ]);
  expect([late.status, textOf(late).includes(`Key ${identifier} is rejected; only`)]).toEqual([422, true]);
});

test('a decision that would be refused is replaced by the reason: on the page of a key and in the queue', async () => {
  const world = await adminWorld();
  const noMail = await adminWorld({ MAIL_URL: '' });
  const [grace, root] = [await signInAdmin(world, 'Grace'), await signInAdmin(noMail, 'Grace')];
  const pending = await request(world.access, ADA);
  /** Which of approval and rejection a page offers by a button or a form. */
  const offered = async (at: PageWorld, admin: typeof grace, path: string) => {
    const { body } = await visit(at, path, { cookie: admin.cookie });
    return ['approve', 'reject'].filter((name) =>
      new RegExp(`(form|id)="${name}"|#${name}"|name="${name}" value="\\w`).test(body),
    );
  };
  const keyPath = (identifier: string) => `/developers/admin/keys/${identifier}`;
  expect(await offered(world, grace, keyPath(pending))).toEqual(['approve', 'reject']);
  expect(await offered(world, grace, '/developers/admin')).toEqual(['approve', 'reject']);
  changeByHand(world.access, 'ada', { banned: true });
  const other = await request(noMail.access, ADA);
  for (const [at, admin, identifier, why] of [
    [world, grace, pending, 'The profile ada is banned'],
    [noMail, root, other, 'MAIL_URL is not set, so the secret could not be sent.'],
  ] as const) {
    for (const path of [keyPath(identifier), '/developers/admin']) {
      expect([path, await offered(at, admin, path)]).toEqual([path, ['reject']]);
      expect(textOf(await visit(at, path, { cookie: admin.cookie }))).toContain(why);
    }
    expect(textOf(await keyPageOf(at, admin, identifier))).toContain(`“Approve” is not possible right now. ${why}`);
  }
  // Not for several requests either.
  expect((await visit(noMail, '/developers/admin', { cookie: root.cookie })).body).not.toMatch(
    /<button[^>]* name="approve"/,
  );
  changeByHand(world.access, 'ada', { banned: false });
  await beginApproval(world.access, { identifier: pending, grant: {}, by: onBox('root') });
  expect(await offered(world, grace, keyPath(pending))).toEqual(['reject']);
  expect(textOf(await keyPageOf(world, grace, pending))).toContain(
    '“Approve” is not possible right now. root (on the box) has been',
  );
});

test('the page of a key in any state says that its profile is banned', async () => {
  const world = await adminWorld();
  const grace = await signInAdmin(world, 'Grace');
  const { identifier: active } = await issue(world.access, ADA);
  const pending = await request(world.access, ADA);
  const said = async () =>
    Promise.all([active, pending].map(async (identifier) => textOf(await keyPageOf(world, grace, identifier))));
  for (const text of await said()) expect(text).not.toContain('banned');
  changeByHand(world.access, 'ada', { banned: true });
  const [ofActive, ofPending] = await said();
  for (const text of [ofActive, ofPending]) expect(text).toContain('The profile ada is banned.');
  expect(ofActive).toContain('Active refused: profile banned');
  moveByAdmin(world.access, active, 'suspend');
  expect(textOf(await keyPageOf(world, grace, active))).toContain('suspended refused: profile banned');
});

test('the page of a key has the forms that are possible in its state', async () => {
  const world = await adminWorld();
  const grace = await signInAdmin(world, 'Grace');
  const forms = {
    pending: 'approve reject',
    Active: 'change suspend revoke',
    suspended: 'change resume revoke',
    rejected: '',
    withdrawn: '',
    revoked: '',
    expired: '',
  };
  for (const [state, wanted] of Object.entries(forms)) {
    const identifier = await keyIn(state as keyof typeof forms, { ...world.access, clock: world.clock }, 'ada');
    const { body, status } = await keyPageOf(world, grace, identifier);
    const found = [...body.matchAll(/name="operation" value="(\w+)"/g)].map(([, operation]) => operation).join(' ');
    expect([state, status, found]).toEqual([state, 200, wanted]);
    expect([state, body.includes('href="#decide"')]).toEqual([state, wanted !== '']);
    if (state === 'pending') rejectKey(world.access, { identifier, reason: 'No.', by: onBox('root') });
  }
  expect((await keyPageOf(world, grace, '00000000')).status).toBe(404);
  const { identifier } = await issue(world.access, { profile: 'ada' });
  eraseProfile(world.access, 'ada', onBox('root'));
  const erased = await keyPageOf(world, grace, identifier);
  expect([erased.status, textOf(erased).includes('An erased key'), erased.body.includes('name="operation"')]).toEqual([
    200,
    true,
    false,
  ]);
});

test('ids are unique on the page of a key and on the one that asks for a reason, which keeps what was typed', async () => {
  const world = await adminWorld();
  const grace = await signInAdmin(world, 'Grace');
  const { identifier } = await issue(world.access, ADA);
  const page = await keyPageOf(world, grace, identifier);
  const asked = await decideAs(world, grace, identifier, [['operation', 'suspend']]);
  expect([asked.status, asked.refusal, textOf(asked).includes('Suspend “Bot”?')]).toEqual([200, null, true]);
  expect(asked.body.includes('role="alert"')).toBe(false);
  const empty = await sendDecision(world, grace, identifier, [...hiddenIn(asked), ['reason', ' ']]);
  expect([empty.status, empty.refusal, empty.body.match(/aria-invalid="true"/g)?.length]).toEqual([
    422,
    'refused_form',
    1,
  ]);
  for (const { body } of [page, asked, empty]) {
    const ids = [...body.matchAll(/ id="([^"]*)"/g)].map(([, id]) => id);
    expect(ids.toSorted()).toEqual([...new Set(ids)].toSorted());
  }
  // If the key changes in the meantime, its new state is shown, and the reason is kept.
  const hopper = await signInAdmin(world, 'Hopper');
  await decideAs(world, hopper, identifier, [
    ['operation', 'change'],
    ...APPROVAL.slice(1, 2),
    ['rateLimits', '5/1h'],
    ['expires', ''],
  ]);
  const late = await sendDecision(world, grace, identifier, [...hiddenIn(asked), ['reason', 'Too fast.']]);
  expect([late.status, late.refusal, late.body.includes('>\nToo fast.</textarea>')]).toEqual([
    409,
    'changed_since',
    true,
  ]);
  const done = await sendDecision(world, grace, identifier, [...hiddenIn(late), ['reason', 'Too fast.']]);
  expect([done.status, showKey(world.access, identifier).state]).toEqual([303, 'suspended']);
});
