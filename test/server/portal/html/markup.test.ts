import { expect, test } from 'bun:test';
import { filledIn } from '../../../support/forms.ts';
import { issue, request } from '../../../support/keys.ts';
import { adminPages, servePages, signInOwner } from '../../../support/pages.ts';
import { PAGES } from '../../routes.ts';

/** The fields of forms and the parameters of pages that are shown again, or read at all. */
const NAMES =
  'name address code next description permissions projectUrl expectedUsage reason rateLimits rateLimitsOther'
    .concat(
      ' rateLimitsSpan expires expiresOther operation shown chosen after choose decided find state by kind key from to',
    )
    .concat(' before successor-of like unknown')
    .split(' ');

/** Its bytes, as a header is sent. */
const latin1 = (text: string) => Buffer.from(text).toString('latin1');

const MARK = `"'></textarea></title><script>mark()</script><img src=x onerror=mark()>\u202e`;

test('paths, queries, fields, cookies and browser names never become markup, on any page or refusal', async () => {
  const world = await servePages();
  for (const { method, path } of PAGES) {
    // A new session for each route, because some end it.
    const signedIn = signInOwner(world.access, 7);
    const pairs = new URLSearchParams(NAMES.map((name): [string, string] => [name, MARK]));
    for (const cookie of ['', signedIn, `flash=${MARK.replaceAll(/[;,"]/g, '')}; ${signedIn}`]) {
      const at = path.replace(/:\w+/g, encodeURIComponent(MARK));
      const agent = { 'User-Agent': latin1(MARK) };
      const answer =
        method === 'POST'
          ? await world.post(at, [...pairs], latin1(cookie), agent)
          : await world.get(`${at}?${pairs}`, latin1(cookie), agent);
      expect([path, answer.body.match(/<script>mark|<img src=x|<\/title><script/)]).toEqual([path, null]);
      expect([...answer.headers].filter(([, value]) => /[\r\n]|<script/.test(value))).toEqual([]);
    }
  }
});

// Time proportional to the square of a field's length would be minutes here.
test('a hundred refused forms of 60 KB of "e-mail" are offered again unchanged, within seconds', async () => {
  const { post } = await servePages();
  const form = { name: 'E-mail <1>', description: 'e-mail'.repeat(10_000) };
  for (let count = 0; count < 100; count++) {
    const { body } = await post('/developers/keys/new', form);
    expect(Object.fromEntries(filledIn(body, 'Send again').form)).toEqual(form);
    expect(body).toContain('<dd>E-mail &lt;1&gt;</dd>');
  }
}, 10_000);

test('texts of owners and admins never become markup on an admin’s page, including confirmations', async () => {
  const { access, get, signIn } = await adminPages();
  const text = `"'><script>mark()<img src=x>`;
  const [admin, other] = [await signIn(text), await signIn(`${text}2`)];
  const asked = { profile: 'ada', name: text, description: MARK.repeat(2), expectedUsage: MARK };
  const { identifier: old } = await issue(access, asked);
  const identifier = await request(access, { ...asked, successorOf: old });
  const rejected = await request(access, asked);
  const asking = await other.press(await other.see(`/keys/${rejected}`), 'Reject…');
  await other.press(asking, 'Reject it', { reason: MARK });
  const pages = ['', '/keys?state=all', '/people', '/log', `/keys/${old}`, `/keys/${identifier}`, `/keys/${rejected}`];
  const seen = [
    ...(await Promise.all(pages.map((path) => get(`/developers/admin${path}`, admin.cookie, { 'user-agent': text })))),
    await admin.press(await admin.see(`/keys/${old}`), 'Revoke…'),
  ];
  for (const { status, body } of seen) {
    expect([status, body.match(/<script>mark|<img src=x|<\/title><script/)]).toEqual([200, null]);
    expect(body).toContain('&lt;script&gt;mark()');
  }
  // Nor do their directions change that of a heading.
  expect(seen.at(-1)?.body).toContain('<h1>Revoke “<bdi>');
});
