import { describe, expect, test } from 'bun:test';
import { addAdmin, listAdmins } from '../../../../shared/admins/admins.ts';
import { DAY_MS } from '../../../../shared/clock.ts';
import { rejectKey } from '../../../../shared/keys/life/lifecycle.ts';
import { beginRegistration } from '../../../../shared/passkeys/registration.ts';
import { onBox } from '../../../support/actors.ts';
import { importLines } from '../../../support/import.ts';
import { DESCRIPTION, issue, request } from '../../../support/keys.ts';
import {
  adminWorld,
  challengeOn,
  hiddenIn,
  signInAdmin,
  textOf,
  userHandleOn,
  withPasskey,
} from '../../../support/portal/admin-pages.ts';
import { secretOf } from '../../../support/portal/admins.ts';
import { createAuthenticator } from '../../../support/portal/authenticator.ts';
import { pageWorld, unescaped, valuesOf, visit } from '../../../support/portal/pages.ts';

// How admins enrol and sign in, and what they see of requests, people and decisions.

const ENROL = '/developers/enrol';
const SIGN_IN = '/developers/admin/sign-in';

describe('a passkey is registered by the link of `admins add`', () => {
  test('under a name; it works at once, and ADMIN_EMAIL is notified', async () => {
    const world = await adminWorld({ ADMIN_EMAIL: 'root@example.org' });
    const { access } = world;
    const secret = secretOf(addAdmin(access, 'Grace', onBox('root')).address);
    const opened = await visit(world, ENROL);
    expect([opened.status, opened.body.includes('Grace'), hiddenIn(opened)]).toEqual([200, false, [['secret', '']]]);
    const asked = await visit(world, ENROL, { form: { secret } });
    expect(textOf(asked)).toContain('For the admin Grace. This link works once, until 2026-01-01 00:15 UTC.');
    const authenticator = createAuthenticator({ id: 'localhost', origin: 'http://localhost:3000' });
    const make = (page: typeof asked, name: string) => ({
      credential: authenticator.register(challengeOn(page), userHandleOn(page)),
      ...{ name, secret },
    });
    const unnamed = await visit(world, ENROL, { form: make(asked, ' ') });
    expect([unnamed.status, unnamed.body.includes('<a href="#name">')]).toEqual([422, true]);
    const registered = await visit(world, ENROL, { form: make(unnamed, 'Blue key') });
    expect([registered.status, valuesOf(registered, 'location')]).toEqual([303, [SIGN_IN]]);
    const notices = access.db.$client.query("SELECT body FROM mails WHERE kind = 'enrolment'").all();
    expect(JSON.stringify(notices)).toMatch(/Grace.*192\.0\.2\.7/);
    const signIn = async () => {
      const page = await visit(world, SIGN_IN, { form: {} });
      return visit(world, SIGN_IN, { form: withPasskey(page, authenticator) });
    };
    expect((await signIn()).status).toBe(303);
    expect(listAdmins(access)[0]?.passkeys.map(({ name }) => name)).toEqual(['Blue key']);
  });

  test('unless the link has expired or the passkey is for another origin; no refusal contains the secret', async () => {
    const world = await adminWorld();
    const secret = secretOf(addAdmin(world.access, 'Grace', onBox('root')).address);
    const { challenge } = beginRegistration(world.access, secret);
    const foreign = createAuthenticator({ id: 'localhost', origin: 'http://evil.example' });
    const form = { credential: foreign.register(challenge, 'AAAA'), name: 'Mine', secret };
    const answer = await visit(world, ENROL, { form });
    expect([answer.status, answer.refusal, answer.body.includes('data-passkey="create"')]).toEqual([
      403,
      'forbidden',
      true,
    ]);
    world.clock.advance(15 * 60_000);
    const late = await visit(world, ENROL, { form: { secret } });
    expect([late.status, late.refusal, late.body.includes(secret)]).toEqual([403, 'forbidden', false]);
  });
});

describe('signing in by passkey', () => {
  test('leads to the requested page, in a new session, and ends the previous one', async () => {
    const world = await adminWorld();
    const { cookie, authenticator } = await signInAdmin(world, 'Grace');
    const sent = await visit(world, '/developers/admin/log', {});
    expect(valuesOf(sent, 'location')).toEqual([`${SIGN_IN}?next=%2Fdevelopers%2Fadmin%2Flog`]);
    const { body } = await visit(world, valuesOf(sent, 'location')[0] as string);
    expect(body).toContain('Sign in to see the page you asked for.');
    const page = await visit(world, SIGN_IN, { form: { next: '/developers/admin/log' }, cookie });
    const form = withPasskey(page, authenticator);
    const answer = await visit(world, SIGN_IN, { form, cookie });
    expect([answer.status, valuesOf(answer, 'location')]).toEqual([303, ['/developers/admin/log']]);
    const [session = ''] = valuesOf(answer, 'set-cookie').filter((value) => value.startsWith('session='));
    expect(session).toEndWith('; Path=/; Max-Age=43200; HttpOnly; SameSite=Lax');
    expect((await visit(world, '/developers/admin', { cookie })).status).toBe(303);
    expect((await visit(world, '/developers/admin', { cookie: session.split(';')[0] as string })).status).toBe(200);
    // No redirect leads to another site.
    const asked = await visit(world, SIGN_IN, { form: { next: 'https://evil.example' } });
    const again = await visit(world, SIGN_IN, { form: withPasskey(asked, authenticator) });
    expect(valuesOf(again, 'location')).toEqual(['/developers/admin']);
  });

  test('is impossible where passkeys can’t work, and the pages say what to set', async () => {
    for (const [publicUrl, sentence] of [
      ['http://127.0.0.1:3000', 'to http://localhost:3000 to try it out on this machine'],
      ['http://api.example.org', 'the operator has to set PUBLIC_URL to a URL that begins with https://'],
    ] as const) {
      const world = pageWorld({ PUBLIC_URL: publicUrl });
      for (const path of [SIGN_IN, ENROL]) {
        expect(textOf(await visit(world, path))).toContain(sentence);
        const sent = await visit(world, path, { form: {} });
        expect([sent.status, sent.refusal, textOf(sent).includes(sentence)]).toEqual([503, 'no_sign_in', true]);
      }
    }
  });

  test('still works while strangers at the same IP address try to sign in again and again', async () => {
    const world = await adminWorld();
    const { cookie, authenticator } = await signInAdmin(world, 'Grace');
    const page = await visit(world, SIGN_IN, { form: {}, cookie });
    const tries: number[] = [];
    for (let time = 0; time < 100; time++) tries.push((await visit(world, SIGN_IN, { form: {} })).status);
    expect(tries).toContain(429);
    const entered = await visit(world, SIGN_IN, { form: withPasskey(page, authenticator), cookie });
    expect(entered.status).toBe(303);
    const [session = ''] = valuesOf(entered, 'set-cookie').filter((value) => value.startsWith('session='));
    const own = { form: {}, cookie: session.split(';')[0] as string };
    const add = '/developers/admin/people/passkeys';
    // One was used when she enrolled.
    for (let time = 0; time < 29; time++) expect((await visit(world, add, own)).status).toBe(200);
    // Too many requests are answered with the time to try again.
    const answer = await visit(world, add, own);
    expect([answer.status, valuesOf(answer, 'retry-after')]).toEqual([429, ['60']]);
  });
});

describe('the queue', () => {
  test.each([
    ['', 'No requests are waiting. New ones appear here. API'],
    ['root@example.org', 'No requests are waiting. New ones appear here, and admins get an e-mail. API'],
  ])('says while it is empty who is notified of new requests, if ADMIN_EMAIL is "%s"', async (address, words) => {
    const world = await adminWorld({ ADMIN_EMAIL: address });
    const { cookie } = await signInAdmin(world, 'Grace');
    expect(textOf(await visit(world, '/developers/admin', { cookie }))).toContain(words);
  });

  test('lists the oldest request first, with age and profile, in pages of 50', async () => {
    const world = await adminWorld();
    const { access, clock } = world;
    const { cookie } = await signInAdmin(world, 'Grace');
    expect(textOf(await visit(world, '/developers/admin', { cookie }))).toContain('No requests are waiting.');
    const profiles = Array.from({ length: 26 }, (_, at) => ({
      id: 100 + at,
      username: `user${at}`,
      email: `user${at}@example.org`,
    }));
    await importLines(access, profiles);
    const identifiers: string[] = [];
    for (const { username } of profiles) {
      for (let time = 0; time < 2; time++) {
        identifiers.push(await request(access, { profile: username, description: DESCRIPTION }));
        clock.advance(1);
      }
    }
    clock.advance(2 * DAY_MS);
    const signedIn = (await signInAdmin(world, 'Hopper')).cookie;
    const listed = async (query: string) => {
      const { body } = await visit(world, `/developers/admin${query}`, { cookie: signedIn });
      return [...body.matchAll(/<(?:h2|th scope="row")><a [^>]*href="\/developers\/admin\/keys\/(\w{8})"/g)].map(
        ([, one]) => one,
      );
    };
    const first = await visit(world, '/developers/admin', { cookie: signedIn });
    expect(textOf(first)).toContain('52 requests are waiting, the oldest for 2 days');
    expect(textOf(first)).toContain('2 days ago');
    // The head of every page of an admin has their number.
    for (const path of ['', '/keys', '/log']) {
      const { body } = await visit(world, `/developers/admin${path}`, { cookie: signedIn });
      expect(body).toContain('>Requests 52</a>');
    }
    expect(await listed('/keys')).toEqual(identifiers.slice(0, 50));
    const next = unescaped(/href="\/developers\/admin(\?[^"]*after=[^"]*)">Next page</.exec(first.body)?.[1] ?? '');
    expect(first.body).not.toContain('First page');
    expect(await listed('')).toEqual(identifiers.slice(0, 50));
    expect(await listed(next)).toEqual(identifiers.slice(50));
    const second = await visit(world, `/developers/admin${next}`, { cookie: signedIn });
    expect(second.body).toContain('<a href="/developers/admin">First page</a>');
    expect([textOf(second).includes('52 requests are waiting'), second.body.includes('Next page')]).toEqual([
      true,
      false,
    ]);
    // Selections and refused forms stay on that page.
    const choose = unescaped(
      /href="\/developers\/admin(\?[^"]*)">Choose all on this page</.exec(second.body)?.[1] ?? '',
    );
    const chosen = await visit(world, `/developers/admin${choose}`, { cookie: signedIn });
    expect(chosen.body.match(/ checked>/g)).toHaveLength(2);
    expect(chosen.body).toContain(`<a href="/developers/admin${next.replaceAll('&', '&amp;')}">Choose none</a>`);
    const form = { approve: '', after: new URLSearchParams(next).get('after') ?? '' };
    const refused = await visit(world, '/developers/admin/decide', { cookie: signedIn, form });
    expect([
      refused.status,
      refused.body.includes(identifiers[50] as string),
      refused.body.includes(identifiers[0] as string),
    ]).toEqual([422, true, false]);
    for (const query of ['?after=0', '/keys?after=0', '/keys?state=lost']) {
      expect((await visit(world, `/developers/admin${query}`, { cookie: signedIn })).status).toBe(400);
    }
  });
});

test('viewing pages writes nothing', async () => {
  const world = await adminWorld();
  const { access } = world;
  const { cookie } = await signInAdmin(world, 'Grace');
  const { identifier } = await issue(access, { profile: 'ada' });
  const pending = await request(access, { profile: 'ada' });
  const changes = () =>
    [access.db.$client, access.sessions.sqlite].map((sqlite) => sqlite.query('SELECT total_changes() AS n').get());
  const before = changes();
  const paths = ['', '/people', '/log', '/overview', '/sign-in', `/keys/${identifier}`, `/keys/${pending}`];
  for (const path of paths) expect((await visit(world, `/developers/admin${path}`, { cookie })).status).toBe(200);
  expect((await visit(world, ENROL)).status).toBe(200);
  expect(changes()).toEqual(before);
});

describe('people and decisions', () => {
  test('passkeys are added and removed within five minutes of signing in; removing one ends all sessions, and the last one stays', async () => {
    const world = await adminWorld();
    const { access, clock } = world;
    const { cookie, authenticator } = await signInAdmin(world, 'Grace');
    const people = async () => visit(world, '/developers/admin/people', { cookie });
    const removeOne = /action="([^"]+\/remove)"/;
    const own = await people();
    expect([own.status, removeOne.test(own.body)]).toEqual([200, false]);
    const ADD = '/developers/admin/people/passkeys';
    const second = createAuthenticator({ id: 'localhost', origin: 'http://localhost:3000' });
    const asked = await visit(world, ADD, { cookie, form: {} });
    const made = { name: 'Second', credential: second.register(challengeOn(asked), userHandleOn(asked)) };
    // A challenge is for one person.
    const { cookie: hoppers } = await signInAdmin(world, 'Hopper');
    const stolen = await visit(world, ADD, { cookie: hoppers, form: made });
    expect([stolen.status, stolen.refusal]).toEqual([403, 'forbidden']);
    const again = await visit(world, ADD, { cookie, form: {} });
    const credential = second.register(challengeOn(again), userHandleOn(again));
    expect((await visit(world, ADD, { cookie, form: { name: ' ', credential } })).status).toBe(422);
    const added = await visit(world, ADD, { cookie, form: { name: 'Second', credential } });
    expect([added.status, valuesOf(added, 'location')]).toEqual([303, ['/developers/admin/people']]);
    const two = await people();
    expect(textOf(two)).toContain('Second');
    const path = removeOne.exec(two.body)?.[1] as string;
    expect(textOf(await visit(world, path, { cookie, form: {} }))).toContain('Remove a passkey?');
    expect((await visit(world, path, { cookie: hoppers, form: { sure: 'yes' } })).status).toBe(404);
    clock.advance(5 * 60_000);
    const late = await people();
    expect([removeOne.test(late.body), late.body.includes(`action="${ADD}"`)]).toEqual([false, false]);
    expect(textOf(late)).toContain('sign in again');
    for (const [to, form] of [
      [path, { sure: 'yes' }],
      [ADD, {}],
    ] as const) {
      const refused = await visit(world, to, { cookie, form });
      expect([refused.status, textOf(refused).includes('within five minutes of signing in')]).toEqual([403, true]);
    }
    expect(listAdmins(access)[0]?.passkeys.length).toBe(2);
    const page = await visit(world, SIGN_IN, { form: {} });
    const signedIn = await visit(world, SIGN_IN, { form: withPasskey(page, authenticator) });
    const [fresh = ''] = valuesOf(signedIn, 'set-cookie').filter((value) => value.startsWith('session='));
    const removed = await visit(world, path, { cookie: fresh.split(';')[0] as string, form: { sure: 'yes' } });
    expect([removed.status, valuesOf(removed, 'location')]).toEqual([303, [SIGN_IN]]);
    expect(listAdmins(access)[0]?.passkeys.map(({ name }) => name)).toEqual(['Second']);
    expect((await people()).status).toBe(303);
  });

  test('the log lists every decision on keys and people, newest first', async () => {
    const world = await adminWorld();
    const { access, clock } = world;
    const { cookie } = await signInAdmin(world, 'Grace');
    const { identifier } = await issue(access, { profile: 'ada' });
    clock.advance(60_000);
    const other = await request(access, { profile: 'ada' });
    rejectKey(access, {
      identifier: other,
      reason: 'Say <more>.',
      by: { kind: 'admin', name: 'Grace' },
    });
    const page = await visit(world, '/developers/admin/log', { cookie });
    const text = textOf(page);
    const order = [
      `2026-01-01 00:01 admin Grace Rejected the request for key Bot (${other})`,
      `admin (on the box) Approved key Bot (${identifier})`,
      'admin Grace Registered a passkey of admin Grace Laptop',
      'root (on the box) Added admin Grace',
    ].map((part) => [part, text.indexOf(part)] as const);
    expect(order.filter(([, at]) => at === -1)).toEqual([]);
    // Entries with the same time are ordered by their tables.
    expect(order[0]?.[1]).toBeLessThan(Math.min(...order.slice(1).map(([, at]) => at)));
    expect(page.body).toContain('Say &lt;more&gt;.');
    expect(page.body).toContain(`key <a href="/developers/admin/keys/${other}"><bdi>Bot</bdi></a> (`);
    // The time zone is shown once, in the head of the column.
    expect(text.match(/\bUTC\b/g)?.length).toBe(1 + text.split('A UTC date').length - 1);
    expect((await visit(world, '/developers/admin/log?before=x', { cookie })).status).toBe(400);
  });

  test('the log can be filtered by person, kind, key and time, on all of its pages', async () => {
    const world = await adminWorld();
    const { access, clock } = world;
    await signInAdmin(world, 'Grace');
    const { identifier } = await issue(access, { profile: 'ada' });
    clock.advance(2 * DAY_MS);
    const { cookie } = await signInAdmin(world, 'Hopper');
    for (let at = 0; at < 60; at++) addAdmin(access, `Admin ${at}`, onBox('root'));
    const pageOf = async (query: string) => (await visit(world, `/developers/admin/log${query}`, { cookie })).body;
    const rowsOf = (body: string) => Math.max(0, body.split('<tr>').length - 2);
    expect(await pageOf(`?key=${identifier}&by=&kind=&from=&to=`)).toContain(`Approved key <a`);
    expect(rowsOf(await pageOf(`?key=${identifier}`))).toBe(2);
    expect([rowsOf(await pageOf('?by=owner')), rowsOf(await pageOf('?by=backend'))]).toEqual([1, 0]);
    expect(rowsOf(await pageOf('?kind=key-approved'))).toBe(1);
    expect(rowsOf(await pageOf('?to=2026-01-01&kind=admins'))).toBe(2);
    const first = await pageOf('?from=2026-01-03&kind=admin-added&by=root');
    const older = /href="([^"]*before=[^"]*)">Older/.exec(first)?.[1]?.replaceAll('&amp;', '&') as string;
    const last = (await visit(world, older, { cookie })).body;
    expect([rowsOf(first), rowsOf(last), last.includes('before=')]).toEqual([50, 11, false]);
    for (const [query, sentence] of [
      ['?from=soon', 'must be a duration such as 7d or 12h, a date such as 2026-01-31'],
      ['?kind=x', 'There is no such kind of entry.'],
      ['?key=x', 'The identifier of a key has 8 letters and digits.'],
    ] as const) {
      const refused = await visit(world, `/developers/admin/log${query}`, { cookie });
      expect([refused.status, textOf(refused).includes(sentence)]).toEqual([400, true]);
    }
    expect(await pageOf('?by=nobody')).toContain('No entries match these filters.');
  });
});
