import { describe, expect, test } from 'bun:test';
import { CLI_PARAMETERS } from '../../../../server/portal/sign-in/cli-request.ts';
import type { Signed } from '../../../../shared/sessions-file/whose.ts';
import { ownerToSign } from '../../../../shared/sign-ins/binding.ts';
import { listSignIns } from '../../../../shared/sign-ins/sign-ins.ts';
import { importLines } from '../../../support/import.ts';
import { adminWorld, hiddenIn, signInAdmin } from '../../../support/portal/admin-pages.ts';
import {
  cliPath,
  cliQuery,
  consentTo,
  exchangeForm,
  goOnIn,
  REDIRECT_URI,
  sendLogin,
} from '../../../support/portal/login.ts';
import { personTokenFor } from '../../../support/portal/manage.ts';
import { ADA, BEA, ownerWorld } from '../../../support/portal/owner-pages.ts';
import { serverOfPages, signInOwner, unescaped, valuesOf, visit } from '../../../support/portal/pages.ts';
import { countLogins } from '../../../support/portal/sessions-rows.ts';

// The page that allows a profilectl: what it shows, to whom, and that it never redirects elsewhere.

const world = await ownerWorld();
const { access, cookie } = world;
const see = (changes: Record<string, string | null> = {}, as = cookie) =>
  visit(world, cliPath(changes), { cookie: as });
const codes = () => countLogins(access.sessions);

/** Sends the form of the page with these parameters. */
async function decide(decision: string, changes: Record<string, string | null> = {}, as = cookie) {
  const page = await see(changes, as);
  return visit(world, '/developers/cli', { form: [...hiddenIn(page), ['decision', decision]], cookie: as });
}

test('the page shows the machine, the signed-in person, the browser’s IP address, and what the machine will be allowed to do', async () => {
  const { status, body } = await see({ machine: 'Ada’s desk' });
  expect(status).toBe(200);
  for (const text of ['<bdi>Ada’s desk</bdi>', 'the owner of <bdi>ada</bdi>', '192.0.2.7', 'for at most 90 days']) {
    expect(body).toContain(text);
  }
  const admins = await adminWorld();
  const { cookie: grace } = await signInAdmin(admins, 'Grace');
  const page = await visit(admins, cliPath(), { cookie: grace });
  for (const text of ['the admin <bdi>Grace</bdi>', 'for 12 hours', 'your passkey']) expect(page.body).toContain(text);
});

test('only allowing makes a code; viewing or refusing does not', async () => {
  const before = codes();
  await see();
  const refused = await decide('refuse');
  expect([refused.status, codes()]).toEqual([200, before]);
  const back = goOnIn(refused.body) as URL;
  expect(back.href).toBe(
    `${REDIRECT_URI}?error=access_denied&state=a+state&iss=${encodeURIComponent(access.config.publicUrl)}`,
  );
  const allowed = await decide('allow');
  const there = goOnIn(allowed.body) as URL;
  expect([allowed.status, codes(), there.origin + there.pathname]).toEqual([200, before + 1, REDIRECT_URI]);
  expect(Object.fromEntries(there.searchParams)).toEqual({
    code: expect.stringMatching(/^[\w-]{43}$/),
    state: 'a state',
    iss: access.config.publicUrl,
  });
  // The link for browsers that don't follow the redirect.
  expect(allowed.body).toContain(`<a href="${Bun.escapeHTML(there.href)}">continue</a>`);
  expect(valuesOf(allowed, 'location')).toEqual([]);
});

test('without a redirect URL, the page shows the code and redirects nowhere', async () => {
  const typed = { redirect_uri: null, state: null };
  const { body } = await decide('allow', typed);
  expect(body).toMatch(/<code data-copy="the code">[0-9A-HJKMNP-TV-Z]{4}-[0-9A-HJKMNP-TV-Z]{4}<\/code>/);
  expect(body).toContain('Do this only if you ran that command yourself, and never give this code to anybody.');
  expect([goOnIn(body), goOnIn((await decide('refuse', typed)).body)]).toEqual([null, null]);
});

test('a form without a decision, or shown to another person, asks again and makes no code', async () => {
  const before = codes();
  const fields = hiddenIn(await see());
  const bea = signInOwner(access, BEA.id);
  for (const [form, as] of [
    [fields, cookie],
    [[...fields, ['decision', 'yes']], cookie],
    [[...fields, ['decision', 'allow']], bea],
  ] as [[string, string][], string][]) {
    const { status, body } = await visit(world, '/developers/cli', { form, cookie: as });
    expect([status, body.includes('<h1>Allow profilectl to access your account?</h1>'), goOnIn(body)]).toEqual([
      200,
      true,
      null,
    ]);
  }
  // After signing out, the form can be sent again without the decision, so that the page asks again.
  const out = await visit(world, '/developers/cli', { form: [...fields, ['decision', 'allow']] });
  expect([out.status, out.refusal, out.body.includes('<textarea name="decision"')]).toEqual([403, 'signed_out', false]);
  expect(codes()).toBe(before);
});

describe('a request that profilectl would not send is refused without a redirect', () => {
  const cases: Record<string, (string | null)[]> = {
    response_type: [null, '', 'token', 'code token'],
    client_id: [null, '', 'other', 'Profilectl'],
    // Without a method it would be "plain" (RFC 7636, section 4.3).
    code_challenge_method: [null, '', 'plain', 's256'],
    code_challenge: [null, '', 'x', 'v'.repeat(42), 'v'.repeat(44), `${'v'.repeat(42)}=`, `${'v'.repeat(43)}\n`],
    state: ['a\nb', 'a\u0000', 'ä', 'x'.repeat(513)],
    redirect_uri: [
      'http://127.0.0.1/callback',
      'http://127.0.0.1:/callback',
      'http://127.0.0.1:0/callback',
      'http://127.0.0.1:04711/callback',
      'http://127.0.0.1:65536/callback',
      'http://127.0.0.1:4711',
      'http://127.0.0.1:4711/',
      'http://127.0.0.1:4711/callback/',
      'http://127.0.0.1:4711/callback?a=b',
      'http://127.0.0.1:4711/callback#a',
      'http://127.0.0.1:4711/callback/../x',
      'http://127.0.0.1:4711/%63allback',
      'http://127.0.0.1:4711/Callback',
      'http://127.0.0.1:4711\\@evil.example/callback',
      'http://127.0.0.1:4711@evil.example/callback',
      'http://a@127.0.0.1:4711/callback',
      'http://a:b@127.0.0.1:4711/callback',
      'http://127.0.0.1.evil.example:4711/callback',
      'http://evil.example:4711/callback',
      'http://evil.example/http://127.0.0.1:4711/callback',
      'http://127.0.0.2:4711/callback',
      'http://127.1:4711/callback',
      'http://2130706433:4711/callback',
      'http://0x7f000001:4711/callback',
      'http://127.0.0.1%2eevil.example:4711/callback',
      'http://localhost:4711/callback',
      'http://[::]:4711/callback',
      'http://[::ffff:127.0.0.1]:4711/callback',
      'http://[0:0:0:0:0:0:0:1]:4711/callback',
      'http://0.0.0.0:4711/callback',
      'https://127.0.0.1:4711/callback',
      'HTTP://127.0.0.1:4711/callback',
      ' http://127.0.0.1:4711/callback',
      'http://127.0.0.1:4711/callback ',
      'http://127.0.0.1:4711/callback\r\nX: y',
      '//127.0.0.1:4711/callback',
      '/callback',
      'javascript:alert(1)',
      'data:text/html,x',
      'profilectl://callback',
    ],
  };
  for (const [name, values] of Object.entries(cases)) {
    test(name, async () => {
      const before = codes();
      const fields = hiddenIn(await see());
      for (const value of values) {
        const others = fields.filter(([field]) => field !== name);
        const form: [string, string][] = [...others, ['decision', 'allow']];
        if (value !== null) form.push([name, value]);
        const answers = [await see({ [name]: value }), await visit(world, '/developers/cli', { form, cookie })];
        for (const answer of answers) {
          expect([name, value, answer.status, answer.refusal]).toEqual([name, value, 400, 'bad_parameter']);
          expect([goOnIn(answer.body), valuesOf(answer, 'location')]).toEqual([null, []]);
          expect(answer.body).not.toMatch(/<a href="(?!\/|mailto:)/);
        }
      }
      expect(codes()).toBe(before);
    });
  }

  test('a repeated parameter', async () => {
    for (const [name, value] of Object.entries(cliQuery())) {
      const more = new URLSearchParams({ [name]: value });
      expect((await visit(world, `${cliPath()}&${more}`, { cookie })).status).toBe(400);
    }
  });
});

test('both loopback addresses are accepted, with any port', async () => {
  for (const host of ['127.0.0.1', '[::1]']) {
    for (const port of [1, 80, 443, 65_535]) {
      const redirect_uri = `http://${host}:${port}/callback`;
      const { body } = await decide('allow', { redirect_uri });
      expect(body).toContain(`content="0; url=${redirect_uri}?code=`);
    }
  }
});

test('the machine’s name is shown as text without control characters on every page', async () => {
  const machine = `\u001b[2J"'></bdi><script>mark()</script>\u202e\u0000\r\n${'😀'.repeat(70)}`;
  const own = await ownerWorld();
  const server = await serverOfPages(own);
  const ada = own.cookie;
  const page = await visit(own, cliPath({ machine }), { cookie: ada });
  const name = `[2J"'></bdi><script>mark()</script>`;
  const code = await consentTo(own, ada, { machine });
  expect((await sendLogin(server, 'token', exchangeForm(code))).status).toBe(200);
  const [token] = listSignIns(own.access, ownerToSign(own.access, ADA.id) as Signed, 'profilectl');
  expect([token?.machine.startsWith(name), [...(token?.machine ?? '')].length]).toEqual([true, 64]);
  const sessions = await visit(own, '/developers/sessions', { cookie: ada });
  for (const { body } of [page, sessions]) {
    expect(body).not.toMatch(/<script>mark|<\/bdi><script/);
    expect(['\u0000', '\u001b', '\u202e'].filter((one) => body.includes(one))).toEqual([]);
    expect(body).toContain('&lt;script&gt;mark()');
  }
  for (const nameless of ['', '\u0007', ' \u202e ']) {
    const { body } = await visit(own, cliPath({ machine: nameless }), { cookie: ada });
    expect(body).toContain('<bdi>a machine without a name</bdi>');
  }
});

test('the state is returned unchanged, and never becomes markup', async () => {
  const state = `"'></textarea><script>mark()</script>&x=1#;url=http://evil.example/ %00`;
  const { body } = await decide('allow', { state });
  expect(body).not.toContain('<script>mark');
  const back = goOnIn(body) as URL;
  expect([back.searchParams.get('state'), back.hash, back.host]).toEqual([state, '', '127.0.0.1:4711']);
});

test('signing in as an owner or an admin returns to the page with every parameter', async () => {
  const query = cliQuery({ machine: "Ada's (old) desk*~!", state: 'a+b c&d=e#%2F' });
  const path = `/developers/cli?${new URLSearchParams(query)}`;
  const sent = valuesOf(await visit(world, path), 'location')[0] as string;
  expect(sent).toStartWith('/developers/sign-in?next=%2Fdevelopers%2Fcli%3F');
  const signIn = await visit(world, sent);
  const toAdmins = unescaped(/href="(\/developers\/admin\/sign-in\?next=[^"]+)"/.exec(signIn.body)?.[1] as string);
  const next = new Map(hiddenIn(signIn)).get('next') as string;
  expect(new URL(toAdmins, 'http://localhost').searchParams.get('next')).toBe(next);
  const admins = await adminWorld();
  expect(new Map(hiddenIn(await visit(admins, toAdmins))).get('next')).toBe(next);
  const { pathname, searchParams } = new URL(next, 'http://localhost');
  expect([pathname, Object.fromEntries(searchParams)]).toEqual(['/developers/cli', query]);
  const asked = await visit(world, '/developers/sign-in', { form: { name: 'bea', address: BEA.email, next } });
  const jar = valuesOf(asked, 'set-cookie')
    .map((value) => value.split(';')[0])
    .join('; ');
  const form = { code: world.lastCode(), next };
  const entered = await visit(world, '/developers/sign-in/code', { form, cookie: jar });
  expect(valuesOf(entered, 'location')).toEqual([next]);
  const bea = valuesOf(entered, 'set-cookie').find((value) => value.startsWith('session=')) as string;
  const page = await visit(world, next, { cookie: bea.split(';')[0] as string });
  expect(new Map(hiddenIn(page))).toEqual(new Map([...Object.entries(query), ['shown', `owner ${BEA.id}`]]));
});

test('a person’s sessions list each of their logins, and can end one or all of them, but no others', async () => {
  const own = await ownerWorld();
  await importLines(own.access, [BEA]);
  const [first, second, others] = [ADA, ADA, BEA].map(({ id }, index) =>
    personTokenFor(own.access, ownerToSign(own.access, id) as Signed, `machine ${index}`).slice(4, 12),
  ) as [string, string, string];
  const end = (identifier: string) =>
    visit(own, `/developers/sessions/cli/${identifier}/end`, { form: {}, cookie: own.cookie });
  const listed = async () => {
    const { body } = await visit(own, '/developers/sessions', { cookie: own.cookie });
    const [living = '', ended = ''] = body.split('Ended in the last 30 days');
    return [living, ended].map((part) => [first, second, others].map((one) => part.includes(`<code>${one}</code>`)));
  };
  expect(await listed()).toEqual([
    [true, true, false],
    [false, false, false],
  ]);
  for (const wrong of [others, 'zzzzzzzz', '1']) expect((await end(wrong)).status).toBe(404);
  expect(valuesOf(await end(first), 'location')).toEqual(['/developers/sessions']);
  expect((await end(first)).status).toBe(404);
  expect(await listed()).toEqual([
    [false, true, false],
    [true, false, false],
  ]);
  await visit(own, '/developers/sessions/end-all', { form: {}, cookie: own.cookie });
  const alive = own.access.sessions.sqlite
    .query("SELECT identifier FROM sign_ins WHERE kind = 'profilectl' AND ended_at IS NULL")
    .values();
  expect(alive).toEqual([[others]]);
});

test('the form sends exactly the parameters of the URL', async () => {
  const fields = hiddenIn(await see());
  expect(fields.map(([name]) => name)).toEqual([...CLI_PARAMETERS, 'shown']);
});
