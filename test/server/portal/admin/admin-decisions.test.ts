import { describe, expect, test } from 'bun:test';
import { settleBackground } from '../../../../server/thread/background.ts';
import { beginApproval } from '../../../../shared/approval/approve.ts';
import { rejectKey } from '../../../../shared/keys/life/lifecycle.ts';
import { keyHistory, showKey } from '../../../../shared/keys/view.ts';
import type { AnyOperation } from '../../../../shared/operations/entry.ts';
import { DECISIONS } from '../../../../shared/operations.ts';
import { onBox } from '../../../support/actors.ts';
import { eraseProfile } from '../../../support/erase.ts';
import { changeByHand } from '../../../support/import.ts';
import { decidedValues } from '../../../support/input-values.ts';
import { issue, keyIn, mailedSecrets, mails, moveByAdmin, request } from '../../../support/keys.ts';
import {
  APPROVAL,
  adminWorld,
  askToDecide,
  decideAs,
  hiddenIn,
  keyPageOf,
  sendDecision,
  signInAdmin,
  textOf,
  withPasskey,
} from '../../../support/portal/admin-pages.ts';
import { useKey } from '../../../support/portal/owner-pages.ts';
import { type PageWorld, valuesOf, visit } from '../../../support/portal/pages.ts';
import { insertProfile } from '../../../support/profiles.ts';
import { drawHalf, seededRandom } from '../../../support/rounds.ts';

// Admins decide on keys with a passkey: exactly what the page showed, and nothing else.

const ADA = { profile: 'ada' };

/** Everything that a decision could have changed. */
const traces = ({ access }: PageWorld) =>
  JSON.stringify([
    ...['api_keys', 'key_events', 'key_attempts', 'notices', 'passkeys'].map((table) =>
      access.db.$client.query(table === 'passkeys' ? 'SELECT id, name FROM passkeys' : `SELECT * FROM ${table}`).all(),
    ),
    mails(access),
  ]);

test('an approval is carried out as it was shown, and the key has what was granted', async () => {
  const world = await adminWorld();
  const grace = await signInAdmin(world, 'Grace');
  const { access, clock } = world;
  const identifier = await request(access, { ...ADA, permissions: ['api.lookup', 'api.leaderboard'] });
  const page = await askToDecide(world, grace, identifier, [
    ['operation', 'approve'],
    ['permissions', 'api.leaderboard'],
    ['rateLimits', '7/1m, 90/1d'],
    ['expires', '90d'],
    ['retireOld', ''],
  ]);
  expect([page.status, page.refusal]).toEqual([200, null]);
  expect(page.body).toContain('<title>Approve “Bot”? – Requests – Profile Lookup</title>');
  for (const part of [
    'Approve “Bot”?',
    'ada@example.org',
    'Permissions api.lookup: look up profiles and their links (requested, not granted) api.leaderboard: read the leaderboard Rate limits',
    '7/1m (at most 7 requests in any minute)',
    '2026-04-01 00:00 UTC',
  ]) {
    expect(textOf(page)).toContain(part);
  }
  // A duration counts from when the page was shown, however long the passkey takes.
  clock.advance(60_000);
  const answer = await sendDecision(world, grace, identifier, withPasskey(page, grace.authenticator));
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

test('a decision on a request leads to the next one, oldest first, or to the queue; any other decision leads back to its key', async () => {
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
  expect(valuesOf(await reject(first), 'location')).toEqual([`/developers/admin/keys/${second}?decided=${first}`]);
  expect(valuesOf(await reject(second), 'location')).toEqual([`/developers/admin?decided=${second}`]);
  expect(keyHistory(access, first).at(-1)).toMatchObject({
    by: 'admin Grace',
    detail: { reason: 'Say more\nof <it>.' },
  });
  const { identifier } = await issue(access, ADA);
  const waiting = await request(access, ADA);
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
    const path = `/developers/admin/keys/${waiting}?decided=${encodeURIComponent(decided)}`;
    const shown = await visit(world, path, { cookie: grace.cookie });
    expect([shown.status, textOf(shown).includes('Approved:')]).toEqual([200, false]);
  }
});

test('a key is suspended with a reason, by passkey, on pages that say which programs stop', async () => {
  const world = await adminWorld();
  const { access } = world;
  const grace = await signInAdmin(world, 'Grace');
  const { identifier } = await issue(access, ADA);
  const state = () => showKey(access, identifier).state;
  const suspension: [string, string][] = [
    ['operation', 'suspend'],
    ['reason', 'Too fast.'],
  ];
  useKey(access, identifier, 1, 2_000);
  // Both the page that asks for the reason and the one that asks for the passkey say what breaks.
  const stops = 'Programs that use “Bot” lose access at once; the API answered 2 003 requests with it today.';
  expect(textOf(await askToDecide(world, grace, identifier, [['operation', 'suspend']]))).toContain(stops);
  const page = await askToDecide(world, grace, identifier, suspension);
  expect(textOf(page)).toContain('refused until it is resumed');
  expect(textOf(page)).toContain(stops);
  expect([textOf(page).includes('Too fast.'), state()]).toEqual([true, 'Active']);
  const done = await sendDecision(world, grace, identifier, withPasskey(page, grace.authenticator));
  expect([done.status, state()]).toEqual([303, 'suspended']);
  expect(keyHistory(access, identifier).at(-1)).toMatchObject({ by: 'admin Grace', detail: { reason: 'Too fast.' } });
  const [next = ''] = valuesOf(done, 'location');
  const [flash = ''] = valuesOf(done, 'set-cookie').filter((cookie) => cookie.startsWith('flash='));
  const shown = await visit(world, next, { cookie: `${grace.cookie}; ${flash.split(';')[0]}` });
  expect(textOf(shown)).toContain('Key suspended. Its owner gets the reason by e-mail.');
  expect(textOf(shown)).toMatch(/ suspended for less than a minute by admin Grace · \w{8} The reason: Too fast\. /);
  // No program stops if the key does not work anyway.
  expect(textOf(await askToDecide(world, grace, identifier, [['operation', 'revoke']]))).not.toContain('stop at once');
});

test('a change to what the key already has is refused before the passkey is asked for', async () => {
  const world = await adminWorld();
  const grace = await signInAdmin(world, 'Grace');
  const { identifier } = await issue(world.access, ADA, { rateLimits: [{ quota: 60, windowSeconds: 60 }] });
  const change = (rateLimits: string) =>
    askToDecide(world, grace, identifier, [
      ['operation', 'change'],
      ['permissions', 'api.lookup'],
      ['rateLimits', rateLimits],
      ['expires', ''],
    ]);
  const before = traces(world);
  // The same limit in another notation.
  const same = await change('60/60s');
  expect([same.status, same.body.includes('data-passkey'), traces(world)]).toEqual([422, false, before]);
  expect(textOf(same)).toContain('The key already has these values; nothing would change.');
  expect((await change('61/60s')).body.includes('data-passkey')).toBe(true);
});

describe('the page that asks for the passkey shows the value of every field of', () => {
  /** A key of this profile on which an operation is possible. A request replaces another key, so that its form has every field. */
  const keyFor = async ({ access, clock }: PageWorld, { from }: AnyOperation, profile: string): Promise<string> => {
    const [state = 'pending'] = from ?? [];
    if (state !== 'pending') return keyIn(state, { ...access, clock }, profile);
    return request(access, { profile, successorOf: (await issue(access, { profile })).identifier });
  };

  /** An admin, and a profile for each decision. */
  const shared = adminWorld().then(async (world) => {
    for (const [at, { name }] of DECISIONS.entries()) insertProfile(world.access.db, { id: 100 + at, username: name });
    return { world, grace: await signInAdmin(world, 'Grace') };
  });
  const chance = seededRandom('values of decisions');

  for (const operation of DECISIONS) {
    const fields = decidedValues(operation);
    if (fields.length === 0) continue;
    const shown = fields.flatMap(({ first, textsOf }) => textsOf(first));

    test(operation.name, async () => {
      const { world, grace } = await shared;
      world.clock.advance(60_000);
      const identifier = await keyFor(world, operation, operation.name);
      const textWith = async (changed: readonly [string, string][]) => {
        const kept = shown.filter(([name]) => !changed.some(([one]) => one === name));
        const form: [string, string][] = [['operation', operation.name], ...kept, ...changed];
        return textOf(await askToDecide(world, grace, identifier, form));
      };
      for (const { field, first, others, textsOf } of fields) {
        const texts = new Set<string>();
        const values = [first, ...drawHalf(others, chance)];
        for (const value of values) texts.add(await textWith(textsOf(value)));
        expect([field, texts.size]).toEqual([field, values.length]);
      }
    });
  }
});

describe('a decision that is not what the page showed is refused', () => {
  test('with another value, which is shown again, or another operation', async () => {
    const world = await adminWorld();
    const grace = await signInAdmin(world, 'Grace');
    const pending = await request(world.access, ADA);
    const { identifier: active } = await issue(world.access, ADA);
    const suspension: [string, string][] = [
      ['operation', 'suspend'],
      ['reason', 'Too fast.'],
    ];
    const before = traces(world);
    for (const [identifier, fields, changed, value] of [
      [pending, APPROVAL, 'rateLimits', '61/1m'],
      [active, suspension, 'operation', 'revoke'],
    ] as const) {
      const page = await askToDecide(world, grace, identifier, [...fields]);
      const sent = withPasskey(page, grace.authenticator).filter(([name]) => name !== changed);
      const answer = await sendDecision(world, grace, identifier, [...sent, [changed, value]]);
      expect([changed, answer.status, answer.refusal]).toEqual([changed, 403, 'forbidden']);
      expect(textOf(answer)).toContain('The passkey confirmed something other than this; nothing was done.');
      expect(answer.body).toContain(`value="${value}"`);
    }
    expect(traces(world)).toBe(before);
  });

  test('for another key', async () => {
    const world = await adminWorld();
    const grace = await signInAdmin(world, 'Grace');
    const [one, other] = [await request(world.access, ADA), await request(world.access, ADA)];
    const page = await askToDecide(world, grace, one, APPROVAL);
    const otherPage = await askToDecide(world, grace, other, APPROVAL);
    const shown = hiddenIn(otherPage).filter(([name]) => name === 'shown');
    const sent = withPasskey(page, grace.authenticator).filter(([name]) => name !== 'shown');
    const before = traces(world);
    expect((await sendDecision(world, grace, other, [...sent, ...shown])).status).toBe(403);
    expect(traces(world)).toBe(before);
  });

  test('on a key that has changed since, and shown again', async () => {
    const world = await adminWorld();
    const grace = await signInAdmin(world, 'Grace');
    const { identifier: old } = await issue(world.access, ADA);
    const identifier = await request(world.access, { ...ADA, successorOf: old });
    const page = await askToDecide(world, grace, identifier, APPROVAL);
    const hopper = await signInAdmin(world, 'Hopper');
    await decideAs(world, hopper, old, [
      ['operation', 'revoke'],
      ['reason', 'Leaked.'],
    ]);
    const answer = await sendDecision(world, grace, identifier, withPasskey(page, grace.authenticator));
    expect([answer.status, answer.refusal]).toEqual([409, 'changed_since']);
    expect(textOf(answer)).toContain(
      `Key ${identifier} has changed since it was shown: key ${old}, which it replaces, was changed. Nothing was done.`,
    );
    expect(showKey(world.access, identifier).state).toBe('pending');
    // The form of an outdated page does not even get a challenge.
    const stale = hiddenIn(page).filter(([, value]) => value !== '');
    expect((await sendDecision(world, grace, identifier, [...stale, ['expires', ''], ['retireOld', '']])).status).toBe(
      409,
    );
  });
});

test('a decision with a session alone is asked for the passkey', async () => {
  const world = await adminWorld();
  const grace = await signInAdmin(world, 'Grace');
  const identifier = await request(world.access, ADA);
  const page = await askToDecide(world, grace, identifier, APPROVAL);
  const before = traces(world);
  const again = await sendDecision(world, grace, identifier, hiddenIn(page));
  expect([again.status, /data-passkey="get"/.test(again.body)]).toEqual([200, true]);
  expect(traces(world)).toBe(before);
});

test('an admin sees which other admin is deciding on the same request, until their challenge expires', async () => {
  const world = await adminWorld();
  const grace = await signInAdmin(world, 'Grace');
  const hopper = await signInAdmin(world, 'Hopper');
  const { access, clock } = world;
  const identifier = await request(access, ADA);
  const isShown = async (who: typeof grace) =>
    textOf(await keyPageOf(world, who, identifier)).includes('has been deciding');
  await askToDecide(world, grace, identifier, APPROVAL);
  expect(textOf(await keyPageOf(world, hopper, identifier))).toContain(
    'Admin Grace has been deciding on this key since 2026-01-01 00:00 UTC, and is about to approve it.',
  );
  expect(await isShown(grace)).toBe(false);
  clock.advance(5 * 60_000);
  expect(await isShown(hopper)).toBe(false);
});

test('an impossible decision is refused before the passkey is requested, with what was typed and the rule at its field', async () => {
  const world = await adminWorld();
  const grace = await signInAdmin(world, 'Grace');
  const { access } = world;
  const identifier = await request(access, ADA);
  const wrong = await askToDecide(world, grace, identifier, [
    ['operation', 'approve'],
    ['rateLimits', '60 a minute'],
    ['expires', 'yesterday'],
    ['retireOld', ''],
  ]);
  expect([wrong.status, wrong.refusal, wrong.body.includes('data-passkey')]).toEqual([422, 'refused_form', false]);
  for (const name of ['permissions', 'rateLimits', 'expires']) expect(wrong.body).toContain(`<a href="#${name}">`);
  expect(wrong.body).toContain('value="60 a minute"');
  expect(wrong.body).toContain('value="yesterday"');
  const empty = await askToDecide(world, grace, identifier, [
    ['operation', 'reject'],
    ['reason', ' '],
  ]);
  expect([empty.status, empty.body.includes('<a href="#reason">')]).toEqual([422, true]);
  expect((await askToDecide(world, grace, identifier, [['operation', 'remove passkey']])).refusal).toBe('bad_form');
  rejectKey(access, { identifier, reason: 'No.', by: onBox('root') });
  const late = await askToDecide(world, grace, identifier, APPROVAL);
  expect([late.status, textOf(late).includes(`Key ${identifier} is rejected; only`)]).toEqual([422, true]);
});

test('a decision that would be refused is replaced by the reason: on the page of a key, in the queue and for a link', async () => {
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
  changeByHand(world.access, 'ada', () => ({ banned: true }));
  const other = await request(noMail.access, ADA);
  for (const [at, admin, identifier, why] of [
    [world, grace, pending, 'The profile ada is banned'],
    [noMail, root, other, 'MAIL_URL is not set, so the secret could not be sent.'],
  ] as const) {
    for (const path of [keyPath(identifier), '/developers/admin', `${keyPath(identifier)}?operation=approve`]) {
      expect([path, await offered(at, admin, path)]).toEqual([path, ['reject']]);
      expect(textOf(await visit(at, path, { cookie: admin.cookie }))).toContain(why);
    }
    expect(textOf(await keyPageOf(at, admin, identifier))).toContain(`“Approve” is not possible right now. ${why}`);
  }
  // Not for several requests either.
  expect((await visit(noMail, '/developers/admin', { cookie: root.cookie })).body).not.toMatch(
    /<button[^>]* name="approve"/,
  );
  changeByHand(world.access, 'ada', () => ({ banned: false }));
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
  changeByHand(world.access, 'ada', () => ({ banned: true }));
  const [ofActive, ofPending] = await said();
  for (const text of [ofActive, ofPending]) expect(text).toContain('The profile ada is banned.');
  expect(ofActive).toContain('Active refused: profile banned');
  moveByAdmin(world.access, active, 'suspend');
  expect(textOf(await keyPageOf(world, grace, active))).toContain('suspended refused: profile banned');
  const resuming = textOf(await askToDecide(world, grace, active, [['operation', 'resume']]));
  expect(resuming).toContain('Ban The profile is banned: the key is refused until the ban is lifted.');
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
  const asked = await askToDecide(world, grace, identifier, [['operation', 'suspend']]);
  expect([asked.status, asked.refusal, textOf(asked).includes('Suspend “Bot”?')]).toEqual([200, null, true]);
  expect([asked.body.includes('role="alert"'), asked.body.includes('data-passkey')]).toEqual([false, false]);
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
  const again = await sendDecision(world, grace, identifier, [...hiddenIn(late), ['reason', 'Too fast.']]);
  const done = await sendDecision(world, grace, identifier, withPasskey(again, grace.authenticator));
  expect([done.status, showKey(world.access, identifier).state]).toEqual([303, 'suspended']);
});
