import { describe, expect, test } from 'bun:test';
import { DAY_MS } from '../../../shared/clock.ts';
import { KEY_STATES } from '../../../shared/db/schema.ts';
import { hasEnded } from '../../../shared/keys/key.ts';
import { changeKey, moveAndNotify } from '../../../shared/keys/life.ts';
import { keyRevision } from '../../../shared/keys/record.ts';
import { keyHistory, showKey } from '../../../shared/keys/view.ts';
import { OWNERS_ACTIONS } from '../../../shared/operations.ts';
import { filledIn } from '../../support/forms.ts';
import { get } from '../../support/http.ts';
import { approveKey, DESCRIPTION, issue, keyIn, keysListed, request, STATES_OF_ONE } from '../../support/keys.ts';
import { startSmtp } from '../../support/mail.ts';
import { ADA, type Answer, BEA, type Form, type ServedPages, servePages, signInOwner } from '../../support/pages.ts';
import { importLines } from '../../support/profiles.ts';
import { use } from '../../support/storage.ts';
import { eventually, onBox } from '../../support/world.ts';
import { pageRecorder } from './readable.ts';
import { storedIn, useKey } from './stored.ts';

// What owners see of their keys is recorded; what their forms store is asserted.

const FORM = {
  name: 'Badge bot',
  description: DESCRIPTION,
  permissions: 'api.lookup',
  projectUrl: 'https://example.org/badges',
  expectedUsage: 'A few a minute',
  successorOf: '',
};

const LIMITS = [
  { quota: 60, windowSeconds: 60 },
  { quota: 5_000, windowSeconds: 86_400 },
];

/** Ada's pages, by what follows `/developers/keys`. */
async function adasPages(variables: Record<string, string> = {}) {
  const world = await servePages(variables);
  const { access, clock } = world;
  const see = (path = '') => world.get(`/developers/keys${path}`, world.cookie);
  const send = (path: string, form: Form = {}) => world.post(`/developers/keys${path}`, form, world.cookie);
  /** Sends the form of one of a key's actions, as if its page were shown now. */
  const act = (identifier: string, action: string, fields: Record<string, string> = {}) =>
    send(`/${identifier}/${action}`, { shown: keyRevision(access.db, identifier), ...fields });
  return { ...world, see, send, act, deps: { ...access, clock } };
}

const record = pageRecorder(import.meta.path);

/** The hidden field that says which state of the key a page has shown. */
const shownOn = ({ body }: Answer) => /name="shown" value="([^"]+)"/.exec(body)?.[1] ?? '';

const stored = ({ access: { db } }: ServedPages) => storedIn(db, ['api_keys', 'events']);

test.each(KEY_STATES)('the page of a key that is %s, and those of its actions', async (state) => {
  const { see, act, deps } = await adasPages();
  const identifier = await keyIn(state, deps, 'ada');
  record(state, await see(`/${identifier}`));
  for (const [, { path: action }] of OWNERS_ACTIONS) {
    const page = await see(`/${identifier}/${action}`);
    if (page.status === 200) record(`${state}: ${action}`, page);
    else expect([page.status, (await act(identifier, action)).status]).toEqual([422, 422]);
  }
});

test('the list, with free places and without', async () => {
  const { see, send, act, deps } = await adasPages();
  record('no keys', await see());
  const keys = new Map<string, string>();
  for (const state of STATES_OF_ONE) {
    keys.set(state, await keyIn(state, deps, 'ada'));
    deps.clock.advance(60_000);
    const again = await see(`/new?like=${keys.get(state)}`);
    if (!hasEnded(state)) expect(again.status).toBe(state === 'pending' ? 200 : 422);
    else record(`${state}: request again`, again);
    if (keys.size === 1) record('one ended key alone', await see());
  }
  record('a key in each state', await see());
  record('all three places are taken: the form', await see('/new'));
  record('all three places are taken: sent nevertheless', await send('/new', FORM));
  record('an ended key can’t be revoked', await act(keys.get('revoked') ?? '', 'revoke', { reason: '' }));
  await importLines(deps, [{ ...ADA, banned: true }]);
  record('banned: the list', await see());
  record('banned: Active', await see(`/${keys.get('Active')}`));
  record('banned: the form', await see('/new'));
  for (const answer of [await send('/new', FORM), await act(keys.get('Active') ?? '', 'rename', { name: 'New' })]) {
    expect(answer).toMatchObject({ status: 422, refusal: 'refused_form' });
  }
  expect((await act(keys.get('pending') ?? '', 'withdraw')).status).toBe(303);
  expect((await act(keys.get('Active') ?? '', 'revoke', { reason: '' })).status).toBe(303);
  record('banned: the list with free places', await see());
});

describe('a request', () => {
  test('is stored as typed, and leads to its page', async () => {
    const world = await adasPages();
    const { access, clock, see, send } = world;
    record('the form', await see('/new'));
    await request(access, { profile: 'bea' });
    clock.advance(3_600_000);
    const sent = await send('/new', [...Object.entries(FORM), ['permissions', 'api.leaderboard']]);
    const [key] = keysListed(access, { profile: 'ada' });
    const { permissions: _, successorOf: __, ...typed } = FORM;
    expect(key).toMatchObject({ ...typed, state: 'pending', requestedPermissions: ['api.lookup', 'api.leaderboard'] });
    record('a request was sent', sent);
    clock.advance(3_600_000);
    record('its page', await world.get(sent.location ?? '', `${sent.cookie}; ${world.cookie}`));
    record('the list with a request', await see());
  });

  test('that breaks rules comes back with everything that was typed, and with each rule at its field', async () => {
    const { see: _, send, access } = await adasPages();
    const typed = {
      ...FORM,
      name: '\n',
      description: `  ${'😀'.repeat(79)}  \n`,
      projectUrl: 'ftp://example.org/"x"',
      expectedUsage: `<b>${'ä'.repeat(1_001)}`,
    };
    const { permissions: __, ...withoutPermission } = typed;
    const answer = await send('/new', withoutPermission);
    record('a request that breaks every rule', answer);
    // Browsers drop the first line feed of a textarea, so one precedes the text.
    expect(answer.body.includes(`>\n${typed.description}</textarea>`)).toBe(true);
    expect(keysListed(access, {})).toEqual([]);
  });

  test('can have the longest texts, counted in code points', async () => {
    const { send, access } = await adasPages();
    const longest = {
      name: '😀'.repeat(255),
      description: `${'字'.repeat(1_999)}😀`,
      projectUrl: `https://example.org/${'ä'.repeat(2_028)}`,
      expectedUsage: '😀'.repeat(1_000),
    };
    expect((await send('/new', { ...FORM, ...longest })).status).toBe(303);
    expect(keysListed(access, {})[0]).toMatchObject(longest);
  });

  test('is refused after five a day, with what was typed and the time to try again', async () => {
    const { send, act, clock } = await adasPages();
    clock.advance(DAY_MS / 2);
    for (let n = 0; n < 5; n++) {
      const { location } = await send('/new', FORM);
      await act(location?.slice(-8) ?? '', 'withdraw');
    }
    const answer = await send('/new', FORM);
    expect(answer.headers.get('retry-after')).toBe('43200');
    record('the sixth request of a day', answer);
  });

  test('that is sent repeatedly is one request with one outcome, even if it takes the last slot', async () => {
    const world = await adasPages({ ADMIN_EMAIL: 'root@example.net' });
    const { send, access } = world;
    for (let n = 0; n < 2; n++) await request(access, { profile: 'ada', name: `Bot ${n}` });
    const first = await send('/new', FORM);
    const afterOne = stored(world);
    const [asked] = keysListed(access, { states: ['pending'] }).slice(-1);
    expect([first.status, first.location]).toEqual([303, `/developers/keys/${asked?.identifier}`]);
    for (const answer of await Promise.all([1, 2, 3].map(() => send('/new', FORM)))) {
      expect([answer.status, answer.location, answer.cookies]).toEqual([303, first.location, first.cookies]);
    }
    expect(stored(world)).toBe(afterOne);
  });

  test('by another owner, with other text, or after the first was withdrawn is a separate request', async () => {
    const { send, post, access } = await adasPages();
    const bea = signInOwner(access, BEA.id);
    const sent = [
      await send('/new', FORM),
      await send('/new', { ...FORM, name: 'Another bot' }),
      await post('/developers/keys/new', FORM, bea),
    ];
    moveAndNotify(access, 'withdraw', { identifier: sent[0]?.location?.slice(-8) ?? '', by: onBox('root') });
    sent.push(await send('/new', FORM));
    expect(new Set(sent.map(({ location }) => location)).size).toBe(4);
  });

  test('of an owner who is signed out can be sent again', async () => {
    const { send, post } = await adasPages();
    const answer = await post('/developers/keys/new', FORM);
    record('a request of an owner who is signed out', answer);
    const again = filledIn(answer.body, 'Send again').form;
    expect(Object.fromEntries(again)).toEqual(FORM);
    const paths = [await send('/new', again), await send('/new', again)].map(({ location }) => location);
    expect([paths[0] !== null, paths[1]]).toEqual([true, paths[0] as string]);
  });

  test('for one profile is not sent for another, with which the browser was signed in meanwhile', async () => {
    const { see, press, access, cookie } = await adasPages();
    const bea = signInOwner(access, BEA.id);
    const refused = await press(await see('/new'), 'Send the request', FORM, bea);
    expect([refused.refusal, refused.body.includes('to request the key for bea.')]).toEqual(['changed_since', true]);
    expect(keysListed(access, {})).toEqual([]);
    expect((await press(refused, 'Send the request', {}, cookie)).refusal).toBe('changed_since');
    expect((await press(refused, 'Send the request', {}, bea)).status).toBe(303);
    expect(keysListed(access, {}).map(({ profile }) => profile)).toEqual(['bea']);
  });

  test('for a successor is filled in from the old key, and refused once that is revoked', async () => {
    const { see, send, act, access } = await adasPages();
    const { identifier } = await issue(access, { profile: 'ada', name: 'Old', expectedUsage: 'Much' });
    record('the form for a successor', await see(`/new?successor-of=${identifier}`));
    await send('/new', { ...FORM, successorOf: identifier });
    const [successor] = keysListed(access, { states: ['pending'] });
    expect(successor?.successorOf).toBe(identifier);
    record('a key with a requested successor', await see(`/${identifier}`));
    record('a requested successor', await see(`/${successor?.identifier}`));
    await approveKey(access, { identifier: successor?.identifier ?? '', grant: {}, by: onBox('root') });
    record('a key with an Active successor', await see(`/${identifier}`));
    await act(identifier, 'revoke', { reason: '' });
    record('the form for a successor of a revoked key', await see(`/new?successor-of=${identifier}`));
    expect((await send('/new', { ...FORM, successorOf: identifier })).status).toBe(422);
  });
});

test.each([
  ['rename', 'Active', { name: ' Böt 😀 ' }, { event: 'edited', detail: { nameBefore: 'Bot', nameAfter: 'Böt 😀' } }],
  ['revoke', 'Active', { reason: 'It leaked.' }, { event: 'revoked', to: 'revoked', detail: { reason: 'It leaked.' } }],
  ['withdraw', 'pending', {}, { event: 'withdrawn', to: 'withdrawn' }],
] as const)(
  '%s does what its page showed, or says what has changed and does nothing',
  async (action, state, form, done) => {
    const world = await adasPages();
    const { see, act, access, deps } = world;
    const identifier = await keyIn(state, deps, 'ada');
    const first = await see(`/${identifier}/${action}`);
    if (state === 'Active') {
      changeKey(access, { identifier, change: { rateLimits: [{ quota: 7, windowSeconds: 60 }] }, by: onBox('root') });
    } else await act(identifier, 'rename', { name: 'Another' });
    const before = stored(world);
    const refused = await act(identifier, action, { ...form, shown: shownOn(first) });
    record(`${action}: the key has changed`, refused);
    // As does a form that doesn’t say which state it was about.
    expect((await act(identifier, action, { ...form, shown: '' })).refusal).toBe('changed_since');
    expect(stored(world)).toBe(before);
    const sent = await act(identifier, action, { ...form, shown: shownOn(refused) });
    record(`${action}: done`, sent);
    expect(keyHistory(access, identifier, 'owner').at(-1)).toMatchObject({ by: 'you', ...done });
  },
);

test('a refused name or reason comes back as typed', async () => {
  const { act, access } = await adasPages();
  const { identifier } = await issue(access, { profile: 'ada' });
  record('a name that is too long', await act(identifier, 'rename', { name: 'x'.repeat(256) }));
  const late = await act(identifier, 'rename', { name: 'x'.repeat(256), shown: 'another version' });
  expect([late.status, late.body.includes('This has changed since you opened it')]).toEqual([422, true]);
  const reason = `bell \u0007 ${'y'.repeat(2_000)}`;
  const unreasoned = await act(identifier, 'revoke', { reason });
  expect([unreasoned.status, unreasoned.body.includes(`>\n${reason}</textarea>`)]).toEqual([422, true]);
  expect(showKey(access, identifier)).toMatchObject({ state: 'Active', name: 'Bot' });
});

test('an Active key shows what is left of each limit, and when it refills', async () => {
  const world = await adasPages();
  const { see, access, clock } = world;
  const { identifier } = await issue(access, { profile: 'ada' }, { rateLimits: LIMITS });
  const key = { identifier, rateLimits: LIMITS };
  expect(use(world.server.service.limits, key, 60)).toBeNull();
  record('nothing left of a limit', await see(`/${identifier}`));
  record('nothing left of a limit: the list', await see());
  // The time to wait is rounded up, and never 0.
  const waits = [];
  for (const ms of [500, 500, 500, 17_000]) {
    clock.advance(ms);
    waits.push(/full in ([^<]+)/.exec((await see(`/${identifier}`)).body)?.[1]);
  }
  expect(waits).toEqual(['60 s', '60 s', '59 s', '42 s']);
});

test('a key’s page says what was granted and changed, and shows its usage as a chart and a table', async () => {
  const { see, access, clock } = await adasPages();
  const { identifier } = await issue(access, { profile: 'ada' }, { expiresAtMs: clock.nowMs() + 90 * DAY_MS });
  await changeKey(access, { identifier, change: { rateLimits: [{ quota: 7, windowSeconds: 60 }] }, by: onBox('root') });
  useKey(access, identifier, 3, 100);
  const page = await see(`/${identifier}`);
  record('a used key with an expiry', page);
  expect(page.body.match(/<rect class="answered"/g)).toHaveLength(3);
});

test('a request’s page tells how its approval goes, without the mail server’s words', async () => {
  const smtp = await startSmtp();
  const { see, access } = await adasPages({ MAIL_URL: smtp.url, MAIL_FROM: 'keys@example.org' });
  const identifier = await request(access, { profile: 'ada' });
  smtp.failures.rcpt = '550 5.1.1 mailbox-word unknown';
  await approveKey(access, { identifier, grant: {}, by: onBox('root') }).catch(() => undefined);
  const page = await see(`/${identifier}`);
  record('the e-mail of an approval was refused', page);
  expect(page.body).not.toMatch(/mailbox-word|550/);
  access.db.$client.run("UPDATE key_attempts SET result = 'not confirmed'");
  record('the e-mail of an approval may have arrived', await see(`/${identifier}`));
  access.db.$client.run("UPDATE key_attempts SET result = 'open'");
  record('an approval is on its way', await see(`/${identifier}`));
});

test('a key’s page shows within seconds what its program has spent and what was refused', async () => {
  const { see, access, server } = await adasPages();
  const { identifier, secret } = await issue(
    access,
    { profile: 'ada' },
    { rateLimits: [{ quota: 3, windowSeconds: 60 }] },
  );
  const statuses = [];
  for (let n = 0; n < 4; n++) statuses.push((await get(server, '/api/lookup/username/nobody', secret)).status);
  expect(statuses).toEqual([404, 404, 404, 429]);
  await eventually(async () => {
    const { body } = await see(`/${identifier}`);
    return body.includes('0 left of 3 per minute') && body.includes('3 answered, 1 refused');
  });
});
