import { describe, expect, test } from 'bun:test';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import type { PageAnswer } from '../../../support/pages.ts';
import { ownerWorld, type PageWorld, sentAgain, valuesOf, visit } from '../../../support/pages.ts';
import { countTickets } from '../../../support/people.ts';

const TYPED = { name: 'Ada', address: 'ADA@example.org', next: '' };

/** The cookies that responses set, as the browser sends them. */
function cookiesOf(...answers: PageAnswer[]): string {
  const jar = new Map<string, string>();
  for (const value of answers.flatMap((answer) => valuesOf(answer, 'set-cookie'))) {
    const [pair = ''] = value.split(';', 1);
    const [name = ''] = pair.split('=', 1);
    if (value.includes('Max-Age=0;')) jar.delete(name);
    else jar.set(name, pair);
  }
  return [...jar.values()].join('; ');
}

const mailsOf = ({ access }: PageWorld) => {
  try {
    return readdirSync(join(access.folder, 'mail')).length;
  } catch {
    return 0;
  }
};

test('an owner signs in with the e-mailed code, and returns to the requested page', async () => {
  const at = await ownerWorld();
  const refused = await visit(at, '/developers/sessions');
  expect(valuesOf(refused, 'location')).toEqual(['/developers/sign-in?next=%2Fdevelopers%2Fsessions']);
  const form = await visit(at, '/developers/sign-in?next=%2Fdevelopers%2Fsessions');
  expect(form.body).toContain('<input type="hidden" name="next" value="/developers/sessions">');
  // Whoever did not ask for another page is not told about it.
  const WHY = 'Sign in to see the page you asked for.';
  expect([form.body, (await visit(at, '/developers/sign-in')).body].map((body) => body.includes(WHY))).toEqual([
    true,
    false,
  ]);
  const asked = await visit(at, '/developers/sign-in', { form: { ...TYPED, next: '/developers/sessions' } });
  expect([asked.status, valuesOf(asked, 'location')]).toEqual([
    303,
    ['/developers/sign-in/code?next=%2Fdevelopers%2Fsessions'],
  ]);
  expect(valuesOf(asked, 'set-cookie')[0]).toMatch(/^sign-in=[\w-]{43}; Path=\/; Max-Age=600; HttpOnly; SameSite=Lax$/);
  expect(mailsOf(at)).toBe(1);
  const entered = await visit(at, '/developers/sign-in/code', {
    form: { code: at.lastCode().toLowerCase(), next: '/developers/sessions' },
    cookie: cookiesOf(asked),
  });
  expect([entered.status, valuesOf(entered, 'location')]).toEqual([303, ['/developers/sessions']]);
  const cookie = cookiesOf(asked, entered);
  expect(cookie).toMatch(/^session=[\w-]{43}$/);
  const sessions = await visit(at, '/developers/sessions', { cookie });
  expect(sessions.body).toContain('This browser.');
  // The name in the head says so, so there is no message.
  expect(sessions.body).not.toContain('class="flash"');
  // A second sign-in ends the first session, whose cookie it replaces.
  at.clock.advance(60_000);
  const again = await visit(at, '/developers/sign-in', { form: TYPED, cookie });
  const second = await visit(at, '/developers/sign-in/code', {
    form: { code: at.lastCode(), next: '' },
    cookie: `${cookie}; ${cookiesOf(again)}`,
  });
  expect(second.status).toBe(303);
  expect((await visit(at, '/developers/sessions', { cookie })).status).toBe(303);
});

test('whether username and address match or not, the response is the same byte for byte', async () => {
  const at = await ownerWorld();
  const answers = [];
  for (const form of [
    TYPED,
    { ...TYPED, name: 'nobody' },
    { ...TYPED, address: 'bea@example.org' },
    { ...TYPED, name: 'bea' },
  ]) {
    const { headers, ...rest } = await visit(at, '/developers/sign-in', { form });
    answers.push({
      ...rest,
      headers: headers.map(([name, value]) => [name, value.replace(/=[\w-]{43}|(?<=^typed)=[\w-]+/, '=…')]),
    });
  }
  expect(answers).toEqual(Array(4).fill(answers[0]));
  const pages = [
    await visit(at, '/developers/sign-in/code'),
    await visit(at, '/developers/sign-in/code', { cookie: 'sign-in=x' }),
  ];
  expect(pages[0]).toEqual(pages[1] as PageAnswer);
  expect(mailsOf(at)).toBe(1);
});

test('a refused form comes back with what was typed, and with a list of errors that link to their fields', async () => {
  const at = await ownerWorld();
  const answer = await visit(at, '/developers/sign-in', {
    form: { name: '', address: '"><b>x', next: '/developers/sessions' },
  });
  expect([answer.status, answer.refusal]).toEqual([422, 'refused_form']);
  expect(answer.body).toContain('<title>Error: Sign in – Profile Lookup</title>');
  expect(answer.body).toContain(
    '<div class="summary" role="alert" tabindex="-1" autofocus><h2>There is a problem</h2><ul><li><a href="#name">',
  );
  expect(answer.body).toContain('<li><a href="#address">');
  expect(answer.body).toContain('value="&quot;&gt;&lt;b&gt;x"');
  expect(answer.body).toContain('aria-invalid="true" aria-describedby="address-fault"');
  expect(answer.body).toContain('name="next" value="/developers/sessions"');
  for (const code of ['', 'short', '00000000']) {
    const wrong = await visit(at, '/developers/sign-in/code', { form: { code, next: '' } });
    expect([wrong.status, wrong.refusal, valuesOf(wrong, 'set-cookie')]).toEqual([422, 'refused_form', []]);
    expect(wrong.body).toContain(`value="${code}"`);
  }
});

test('a code works once, and only in the browser that requested it', async () => {
  const at = await ownerWorld();
  const asked = await visit(at, '/developers/sign-in', { form: TYPED });
  const code = at.lastCode();
  const other = await visit(at, '/developers/sign-in', { form: { ...TYPED, name: 'bea', address: 'bea@example.org' } });
  const enter = (cookie: string) => visit(at, '/developers/sign-in/code', { form: { code, next: '' }, cookie });
  expect((await enter('')).status).toBe(422);
  expect((await enter(cookiesOf(other))).status).toBe(422);
  expect((await enter(cookiesOf(asked))).status).toBe(303);
  expect((await enter(cookiesOf(asked))).status).toBe(422);
});

describe('signing in leads only to pages of the portal', () => {
  const elsewhere = [
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
  ];

  test('whatever the link or the form says', async () => {
    const at = await ownerWorld();
    for (const next of elsewhere) {
      at.clock.advance(86_400_000);
      const form = await visit(at, `/developers/sign-in?next=${encodeURIComponent(next)}`);
      expect(form.body).toContain('<input type="hidden" name="next" value="">');
      const asked = await visit(at, '/developers/sign-in', { form: { ...TYPED, next } });
      expect(valuesOf(asked, 'location')).toEqual(['/developers/sign-in/code']);
      const entered = await visit(at, '/developers/sign-in/code', {
        form: { code: at.lastCode(), next },
        cookie: cookiesOf(asked),
      });
      expect(valuesOf(entered, 'location')).toEqual(['/developers/keys']);
    }
  });
});

describe('if signing in is impossible, the page says what to set, and no code is made:', () => {
  const cases = [
    ['MAIL_URL', { MAIL_URL: '' }, {}],
    ['PUBLIC_URL', { PUBLIC_URL: 'http://api.example.org' }, {}],
    ['TRUSTED_PROXIES', {}, { isBehindUnknownProxy: true }],
  ] as const;
  for (const [variable, variables, sent] of cases) {
    test(variable, async () => {
      const at = await ownerWorld(variables);
      const page = await visit(at, '/developers/sign-in', sent);
      expect([page.status, page.body.includes('<form method="post" action="/developers/sign-in"')]).toEqual([
        200,
        false,
      ]);
      expect(page.body).toContain(`set ${variable}`);
      // The start page has no link to it either.
      const start = await visit(at, '/developers', sent);
      expect([start.body.includes(`set ${variable}`), start.body.includes('<a class="button"')]).toEqual([true, false]);
      const asked = await visit(at, '/developers/sign-in', { form: TYPED, ...sent });
      expect([asked.status, asked.refusal, valuesOf(asked, 'set-cookie')]).toEqual([503, 'no_sign_in', []]);
      expect(countTickets(at.access.db, 'code')).toBe(0);
    });
  }
});

test('a failed e-mail is logged without the address or the code', async () => {
  const at = await ownerWorld({ MAIL_URL: 'smtp://127.0.0.1:1', MAIL_FROM: 'lookup@example.org' });
  const asked = await visit(at, '/developers/sign-in', { form: TYPED });
  expect(asked.status).toBe(303);
  expect(at.events).toEqual([['warn', expect.stringContaining('A sign-in mail was not delivered.')]]);
  expect(JSON.stringify(at.events)).not.toMatch(new RegExp(`ada@|${at.lastCode()}`, 'i'));
});

test('after an internal error, a form with what was typed can be sent again, even one with a code', async () => {
  const at = await ownerWorld();
  const sqlite = at.access.db.$client;
  const typed = { ...TYPED, next: '/developers/sessions' };
  sqlite.run('ALTER TABLE tickets RENAME TO gone');
  const failed = await visit(at, '/developers/sign-in', { form: { ...typed, name: 'A & <b>' } });
  expect([failed.status, failed.refusal]).toEqual([500, 'internal']);
  expect(failed.body).toContain('<div><dt>Name</dt><dd>A &amp; &lt;b&gt;</dd></div>');
  expect(failed.body).toContain('<dt>E-mail address</dt>');
  expect(failed.body).not.toContain('<dt>next</dt>');
  expect(failed.body).toContain('>Send again</button>');
  expect(Object.fromEntries(sentAgain(failed.body))).toEqual({ ...typed, name: 'A & <b>' });
  sqlite.run('ALTER TABLE gone RENAME TO tickets');
  const asked = await visit(at, '/developers/sign-in', { form: typed });
  const cookie = cookiesOf(asked);
  sqlite.run('ALTER TABLE tickets RENAME TO gone');
  const form = { code: at.lastCode(), next: typed.next };
  const entered = await visit(at, '/developers/sign-in/code', { form, cookie });
  expect([entered.status, Object.fromEntries(sentAgain(entered.body))]).toEqual([500, form]);
  sqlite.run('ALTER TABLE gone RENAME TO tickets');
  const again = await visit(at, '/developers/sign-in/code', { form: sentAgain(entered.body), cookie });
  expect([again.status, valuesOf(again, 'location')]).toEqual([303, ['/developers/sessions']]);
});

test('an IP address can send each form of strangers only so often, and is refused before the database is read', async () => {
  const at = await ownerWorld({ PUBLIC_URL: 'http://localhost:3000' });
  const forms: [path: string, quota: number, seconds: number][] = [
    ['/developers/sign-in', 10, 3_600],
    ['/developers/sign-in/code', 30, 60],
    ['/developers/admin/sign-in', 30, 60],
    ['/developers/enrol', 30, 60],
    ['/developers/found', 30, 60],
  ];
  for (const [path, quota] of forms) {
    for (let sent = 0; sent < quota; sent++) await visit(at, path, { form: {}, address: '2001:db8:1:1::1' });
  }
  // A statement on a closed file would be refused as a fault of the server.
  at.access.db.$client.close();
  for (const [path, quota, seconds] of forms) {
    const sent = { form: {}, cookie: `session=${'a'.repeat(43)}`, address: '2001:db8:1:1::ffff' };
    const refused = await visit(at, path, sent);
    expect([path, refused.status, refused.refusal]).toEqual([path, 429, 'too_many_failures']);
    expect(Number(valuesOf(refused, 'retry-after')[0])).toBeLessThanOrEqual(seconds + 1);
    expect(refused.body).toContain(`More than ${quota} `);
    expect((await visit(at, path, { ...sent, address: '2001:db8:1:2::1' })).status).not.toBe(429);
  }
});

test('a network of 48 bits can ask for 100 codes an hour', async () => {
  const at = await ownerWorld();
  const ask = async (network: number) =>
    (await visit(at, '/developers/sign-in', { form: TYPED, address: `2001:db8:${network >> 8}:${network}::1` })).status;
  for (let network = 0; network < 100; network++) expect(await ask(network)).toBe(303);
  expect([await ask(200), await ask(0x1_00)]).toEqual([429, 303]);
  at.clock.advance(3_600_001);
  expect(await ask(200)).toBe(303);
});
