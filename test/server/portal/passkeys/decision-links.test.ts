import { describe, expect, test } from 'bun:test';
import { settleBackground } from '../../../../server/thread/background.ts';
import { keyHistory, showKey } from '../../../../shared/keys/view.ts';
import { importLines } from '../../../support/import.ts';
import { issue, request } from '../../../support/keys.ts';
import {
  adminWorld,
  formOn,
  hiddenIn,
  sendDecision,
  signInAdmin,
  textOf,
  withPasskey,
} from '../../../support/portal/admin-pages.ts';
import { ask, valuesOf, visit } from '../../../support/portal/pages.ts';

// A link to the page of a key may fill in one of its forms, but decides nothing.

const world = await adminWorld();
const { access } = world;
const grace = await signInAdmin(world, 'Grace');

let profiles = 100;

/** The key of a new profile. */
async function keyFor(state: 'pending' | 'Active'): Promise<string> {
  const profile = `owner${++profiles}`;
  await importLines(access, [{ id: profiles, username: profile, email: `${profile}@example.org` }]);
  return state === 'pending' ? request(access, { profile }) : (await issue(access, { profile })).identifier;
}

const pathOf = (identifier: string, query: string) => `/developers/admin/keys/${identifier}?${query}`;

const open = (identifier: string, query: string) => visit(world, pathOf(identifier, query), { cookie: grace.cookie });

/** Everything that a decision could have changed. */
const traces = () =>
  JSON.stringify(
    ['api_keys', 'key_events', 'key_attempts', 'notices'].map((table) =>
      access.db.$client.query(`SELECT * FROM ${table}`).all(),
    ),
  );

const MARK = 'Set by a link';

const marksOn = ({ body }: { body: string }) => body.split(`<mark>${MARK}</mark>`).length - 1;

test('a link fills in and marks values, and nothing is decided without the form and the passkey', async () => {
  const identifier = await keyFor('pending');
  const before = traces();
  const query =
    'operation=approve&permissions=api.leaderboard,api.lookup&rateLimits=7/1m,70/1h&expires=2026-12-31&reason=Mine';
  const page = await open(identifier, query);
  expect(page.status).toBe(200);
  expect(formOn(page, 'approve')).toEqual([
    ['operation', 'approve'],
    ['shown', expect.any(String)],
    ['permissions', 'api.lookup'],
    ['permissions', 'api.leaderboard'],
    ['rateLimits', 'other'],
    ['rateLimitsOther', '7/1m,70/1h'],
    ['expires', 'other'],
    ['expiresOther', '2026-12-31'],
  ]);
  expect(marksOn(page)).toBe(3);
  expect(textOf(page)).toContain(`${MARK} , instead of 60/1m 5000/1d.`);
  expect(textOf(page)).toContain('The link that you followed may have filled in the form Approve');
  // A link can't set text.
  expect(page.body).not.toContain('Mine');
  expect(traces()).toBe(before);
  const asked = await sendDecision(world, grace, identifier, formOn(page, 'approve'));
  expect(textOf(asked)).toContain('70/1h');
  expect(traces()).toBe(before);
  const done = await sendDecision(world, grace, identifier, withPasskey(asked, grace.authenticator));
  expect(done.status).toBe(303);
  await settleBackground(world.services.background);
  expect(showKey(access, identifier)).toMatchObject({
    state: 'Active',
    permissions: ['api.lookup', 'api.leaderboard'],
    rateLimits: [
      { quota: 7, windowSeconds: 60 },
      { quota: 70, windowSeconds: 3600 },
    ],
    expiresAt: '2026-12-31T00:00:00.000Z',
  });
  expect(keyHistory(access, identifier).at(-1)?.by).toBe('admin Grace');
});

test('values that equal the request or the defaults are not marked, in any notation', async () => {
  const identifier = await keyFor('pending');
  const same = 'operation=approve&permissions=api.lookup&rateLimits=60/60s,5000/24h&expires=never';
  const page = await open(identifier, same);
  expect([page.status, marksOn(page)]).toEqual([200, 0]);
  const active = await keyFor('Active');
  expect(marksOn(await open(active, same.replace('approve', 'change')))).toBe(0);
  const changed = await open(active, 'operation=change&rateLimits=8/1m');
  expect(marksOn(changed)).toBe(1);
  expect(new Map(formOn(changed, 'change')).get('rateLimitsOther')).toBe('8/1m');
  // Fields of other forms are ignored, and a link can't set text.
  expect((await open(active, 'operation=revoke&reason=Mine')).body).not.toContain('Mine');
  expect(marksOn(await open(active, 'operation=revoke&rateLimits=8/1m'))).toBe(0);
});

test('the end of an old key can be set only for its successor', async () => {
  const old = await keyFor('Active');
  const profile = showKey(access, old).profile as string;
  const successor = await request(access, { profile, successorOf: old });
  const page = await open(successor, 'operation=approve&retireOld=7d');
  expect(new Map(formOn(page, 'approve')).get('retireOld')).toBe('7d');
  expect(marksOn(page)).toBe(1);
  const other = await open(await keyFor('pending'), 'operation=approve&retireOld=7d');
  expect(textOf(other)).toContain('does not replace another key, so there is no old key to retire.');
});

describe('a malformed value is shown as a refused field, and never acted on', () => {
  const WRONG: [query: string, field: string, sentence: string][] = [
    ['operation=approve&rateLimits=many', 'rateLimits', 'A rate limit is'],
    ['operation=approve&permissions=api.everything', 'permissions', 'The only permissions are'],
    [`operation=approve&expires=${encodeURIComponent('"><script>mark()</script>')}`, 'expires', 'The expiry must be'],
  ];
  for (const [query, field, sentence] of WRONG) {
    test(query, async () => {
      const identifier = await keyFor('pending');
      const before = traces();
      const page = await open(identifier, query);
      expect(page.status).toBe(200);
      expect(textOf(page)).toContain('There is a problem');
      expect(page.body).toContain(`<a href="#${field}">`);
      expect(page.body).toContain(`id="${field}-fault"`);
      expect(textOf(page)).toContain(sentence);
      expect(page.body).not.toContain('<script>mark()');
      // Sent as filled in, it is refused before the passkey is requested.
      const sent = await sendDecision(world, grace, identifier, formOn(page, 'approve'));
      expect([sent.status, sent.refusal]).toEqual([422, 'refused_form']);
      expect(traces()).toBe(before);
    });
  }

  test('an unknown operation, or one that the key’s state does not allow, fills in nothing', async () => {
    const [pending, active] = [await keyFor('pending'), await keyFor('Active')];
    const wrong: [string, string, string][] = [
      [pending, 'operation=constructor&rateLimits=7/1m', 'names an unknown decision'],
      [active, 'operation=approve&rateLimits=7/1m', 'only pending keys can be approved'],
    ];
    for (const [identifier, query, sentence] of wrong) {
      const page = await open(identifier, query);
      expect([page.status, marksOn(page), page.body.includes('value="7/1m"')]).toEqual([200, 0, false]);
      expect(textOf(page)).toContain(sentence);
    }
    // Without an operation nothing is filled in either.
    expect((await open(pending, 'rateLimits=7/1m')).body).not.toContain('value="7/1m"');
    expect((await open(pending, 'operation=approve&operation=reject')).status).toBe(400);
  });
});

test('signing in returns to the page with all values of the link', async () => {
  const identifier = await keyFor('pending');
  const query = 'operation=approve&permissions=api.lookup&rateLimits=7/1m,70/1h&expires=90d&retireOld=7d';
  const away = await ask(world, pathOf(identifier, query), {});
  expect(away.status).toBe(303);
  const signIn = new URL(valuesOf(away, 'location')[0] as string, 'http://localhost:3000');
  expect(signIn.pathname).toBe('/developers/admin/sign-in');
  const next = signIn.searchParams.get('next') as string;
  expect(decodeURIComponent(next)).toBe(pathOf(identifier, query));
  const door = await visit(world, `${signIn.pathname}${signIn.search}`);
  const asked = await visit(world, signIn.pathname, { form: hiddenIn(door) });
  const entered = await visit(world, signIn.pathname, { form: withPasskey(asked, grace.authenticator) });
  expect(valuesOf(entered, 'location')).toEqual([next]);
  const session = valuesOf(entered, 'set-cookie').find((value) => value.startsWith('session='));
  const page = await visit(world, next, { cookie: session?.split(';')[0] as string });
  expect(new Map(formOn(page, 'approve')).get('rateLimitsOther')).toBe('7/1m,70/1h');
});
