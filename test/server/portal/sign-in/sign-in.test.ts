import { expect, test } from 'bun:test';
import { settleBackground } from '../../../../server/background.ts';
import { filledIn } from '../../../support/forms.ts';
import { mails } from '../../../support/keys.ts';
import { type Form, type ServedPages, servePages } from '../../../support/pages.ts';

const TYPED = { name: 'Ada', address: 'ADA@example.org', next: '' };

/** Asks for a code, and waits until it has been mailed. */
async function ask({ post, server }: ServedPages, form: Form, cookie?: string, headers?: Record<string, string>) {
  const answer = await post('/developers/sign-in', form, cookie, headers);
  await settleBackground(server.service.background);
  return answer;
}

const enterCode = ({ post }: ServedPages, code: string, cookie: string, next = '') =>
  post('/developers/sign-in/code', { code, next }, cookie);

test('an owner signs in with the e-mailed code, and returns to the requested page', async () => {
  const at = await servePages();
  const next = '/developers/sessions';
  const door = '/developers/sign-in?next=%2Fdevelopers%2Fsessions';
  expect((await at.get(next)).location).toBe(door);
  expect((await at.get(door)).body).toContain(`<input type="hidden" name="next" value="${next}">`);
  const asked = await ask(at, { ...TYPED, next });
  expect(asked).toMatchObject({ status: 303, location: '/developers/sign-in/code?next=%2Fdevelopers%2Fsessions' });
  expect(asked.cookies[0]).toMatch(/^sign-in=[\w-]{43}; Path=\/; Max-Age=600; HttpOnly; SameSite=Lax$/);
  expect(mails(at.access).length).toBe(1);
  const entered = await enterCode(at, at.lastCode().toLowerCase(), asked.cookie, next);
  expect(entered).toMatchObject({ status: 303, location: next });
  const cookie = entered.cookie;
  expect(cookie).toMatch(/^session=[\w-]{43}$/);
  const sessions = await at.get(next, cookie);
  expect(sessions.body).toContain('This browser.');
  // The name in the head says so, so there is no message.
  expect(sessions.body).not.toContain('class="flash"');
  // A second sign-in ends the first session, whose cookie it replaces.
  at.clock.advance(60_000);
  const again = await ask(at, TYPED, cookie);
  expect((await enterCode(at, at.lastCode(), `${cookie}; ${again.cookie}`)).status).toBe(303);
  expect((await at.get(next, cookie)).status).toBe(303);
});

test('whether username and address match or not, the response is the same byte for byte', async () => {
  const at = await servePages();
  const answers = [];
  for (const form of [
    TYPED,
    { ...TYPED, name: 'nobody' },
    { ...TYPED, address: 'bea@example.org' },
    { ...TYPED, name: 'bea' },
  ]) {
    const { status, body, headers } = await ask(at, form);
    const stable = [...headers].filter(([name]) => name !== 'x-request-id' && name !== 'date');
    const random = /=[\w-]{43}|(?<=^typed)=[\w-]+/;
    answers.push({ status, body, headers: stable.map(([name, value]) => [name, value.replace(random, '=…')]) });
  }
  expect(answers).toEqual(Array(4).fill(answers[0]));
  const pages = [await at.get('/developers/sign-in/code'), await at.get('/developers/sign-in/code', 'sign-in=x')];
  expect(pages[0]?.body).toBe(pages[1]?.body as string);
  expect(mails(at.access).length).toBe(1);
});

test('a refused form comes back with what was typed, and with a list of errors that link to their fields', async () => {
  const { post } = await servePages();
  const answer = await post('/developers/sign-in', { name: '', address: '"><b>x', next: '/developers/sessions' });
  expect(answer).toMatchObject({ status: 422, refusal: 'refused_form' });
  for (const part of [
    '<title>Error: Sign in – Profile Lookup</title>',
    '<div class="summary" role="alert" tabindex="-1" autofocus><h2>There is a problem</h2><ul><li><a href="#name">',
    '<li><a href="#address">',
    'value="&quot;&gt;&lt;b&gt;x"',
    'aria-invalid="true" aria-describedby="address-fault"',
    'name="next" value="/developers/sessions"',
  ])
    expect(answer.body).toContain(part);
  for (const code of ['', 'short', '00000000']) {
    const wrong = await post('/developers/sign-in/code', { code, next: '' });
    expect(wrong).toMatchObject({ status: 422, refusal: 'refused_form', cookies: [] });
    expect(wrong.body).toContain(`value="${code}"`);
  }
});

test('a code works once, and only in the browser that requested it', async () => {
  const at = await servePages();
  const asked = await ask(at, TYPED);
  const code = at.lastCode();
  const other = await ask(at, { ...TYPED, name: 'bea', address: 'bea@example.org' });
  const enter = (cookie: string) => enterCode(at, code, cookie);
  expect((await enter('')).status).toBe(422);
  expect((await enter(other.cookie)).status).toBe(422);
  expect((await enter(asked.cookie)).status).toBe(303);
  expect((await enter(asked.cookie)).status).toBe(422);
});

test('signing in leads only to pages of the portal, whatever the link or the form says', async () => {
  const at = await servePages();
  for (const next of [
    'https://evil.example/',
    '//evil.example',
    '/\\evil.example',
    '/developers/../../x',
    '/developers/sessions/../..',
    '/docs',
    '/developers/sign-in',
    '/developers/sign-out',
    '/developers/sessions\r\nSet-Cookie: a=b',
    'javascript:alert(1)',
  ]) {
    at.clock.advance(86_400_000);
    const form = await at.get(`/developers/sign-in?next=${encodeURIComponent(next)}`);
    expect(form.body).toContain('<input type="hidden" name="next" value="">');
    const asked = await ask(at, { ...TYPED, next });
    expect(asked.location).toBe('/developers/sign-in/code');
    const entered = await enterCode(at, at.lastCode(), asked.cookie, next);
    expect(entered.location).toBe('/developers/keys');
  }
});

test('a failed e-mail is logged without the address or the code', async () => {
  const at = await servePages({ MAIL_URL: 'smtp://127.0.0.1:1', MAIL_FROM: 'lookup@example.org' });
  expect((await ask(at, TYPED)).status).toBe(303);
  expect(at.server.log).toContainEqual(
    expect.objectContaining({ level: 'warn', message: expect.stringContaining('A sign-in mail was not delivered.') }),
  );
  expect(JSON.stringify(at.server.log)).not.toMatch(new RegExp(`ada@|${at.lastCode()}`, 'i'));
});

test('after an internal error, a form with what was typed can be sent again, even one with a code', async () => {
  const at = await servePages();
  const sqlite = at.access.db.$client;
  const typed = { ...TYPED, next: '/developers/sessions' };
  sqlite.run('ALTER TABLE tickets RENAME TO gone');
  const failed = await ask(at, { ...typed, name: 'A & <b>' });
  expect(failed).toMatchObject({ status: 500, refusal: 'internal' });
  expect(failed.body).toContain('<div><dt>Name</dt><dd>A &amp; &lt;b&gt;</dd></div>');
  expect(failed.body).toContain('<dt>E-mail address</dt>');
  expect(failed.body).not.toContain('<dt>next</dt>');
  expect(failed.body).toContain('>Send again</button>');
  expect(Object.fromEntries(filledIn(failed.body, 'Send again').form)).toEqual({ ...typed, name: 'A & <b>' });
  sqlite.run('ALTER TABLE gone RENAME TO tickets');
  const cookie = (await ask(at, typed)).cookie;
  sqlite.run('ALTER TABLE tickets RENAME TO gone');
  const form = { code: at.lastCode(), next: typed.next };
  const entered = await at.post('/developers/sign-in/code', form, cookie);
  expect([entered.status, Object.fromEntries(filledIn(entered.body, 'Send again').form)]).toEqual([500, form]);
  sqlite.run('ALTER TABLE gone RENAME TO tickets');
  const again = await at.post('/developers/sign-in/code', filledIn(entered.body, 'Send again').form, cookie);
  expect(again).toMatchObject({ status: 303, location: typed.next });
});

/** Pages behind a proxy that says so of the client's address. */
const behindProxy = () => servePages({ TRUSTED_PROXIES: '127.0.0.1' });
const from = (address: string) => ({ 'X-Forwarded-For': address, 'X-Forwarded-Proto': 'https' });

test('an IP address can send each form of strangers only so often, and is refused before the database is read', async () => {
  const at = await behindProxy();
  const forms: [path: string, quota: number, seconds: number][] = [
    ['/developers/sign-in', 10, 3_600],
    ['/developers/sign-in/code', 30, 60],
    ['/developers/admin/sign-in', 30, 60],
    ['/developers/enrol', 30, 60],
    ['/developers/found', 30, 60],
  ];
  for (const [path, quota] of forms) {
    for (let sent = 0; sent < quota; sent++) await at.post(path, {}, '', from('2001:db8:1:1::1'));
  }
  // A statement on a missing table would be refused as a fault of the server.
  for (const table of ['sign_ins', 'tickets']) at.access.db.$client.run(`ALTER TABLE ${table} RENAME TO no_${table}`);
  for (const [path, quota, seconds] of forms) {
    const cookie = `session=${'a'.repeat(43)}`;
    const refused = await at.post(path, {}, cookie, from('2001:db8:1:1::ffff'));
    expect([path, refused.status, refused.refusal]).toEqual([path, 429, 'too_many_failures']);
    expect(Number(refused.headers.get('retry-after'))).toBeLessThanOrEqual(seconds + 1);
    expect(refused.body).toContain(`More than ${quota} `);
    expect((await at.post(path, {}, cookie, from('2001:db8:1:2::1'))).status).not.toBe(429);
  }
});

test('a network of 48 bits can ask for 100 codes an hour', async () => {
  const at = await behindProxy();
  const statusFrom = async (network: number) =>
    (await ask(at, TYPED, '', from(`2001:db8:${network >> 8}:${network}::1`))).status;
  for (let network = 0; network < 100; network++) expect(await statusFrom(network)).toBe(303);
  expect([await statusFrom(200), await statusFrom(0x1_00)]).toEqual([429, 303]);
  at.clock.advance(3_600_001);
  expect(await statusFrom(200)).toBe(303);
});
