import { describe, expect, test } from 'bun:test';
import { settleBackground } from '../../../../server/background.ts';
import { PAGE_ROUTES } from '../../../../server/portal/routes.ts';
import { sweep } from '../../../../server/upkeep/sweep.ts';
import { openBare } from '../../../../shared/db/connect.ts';
import { revokeLeakedKeys } from '../../../../shared/keys/life/revoke-leaked.ts';
import type { Binding } from '../../../../shared/sessions-file/whose.ts';
import { storePendingSignInNotice } from '../../../../shared/sign-in/sign-in-notices.ts';
import { readBinding } from '../../../../shared/sign-ins/binding.ts';
import { otherCase, unknownButAlike } from '../../../support/identifiers.ts';
import { importLines } from '../../../support/import.ts';
import { DESCRIPTION, issue, keysListed, request } from '../../../support/keys.ts';
import { enrol, signIn } from '../../../support/portal/admins.ts';
import { ADA, BEA, type OwnerWorld, ownerWorld } from '../../../support/portal/owner-pages.ts';
import type { PageAnswer } from '../../../support/portal/pages.ts';
import { ask as askPages, signInOwner, valuesOf, visit } from '../../../support/portal/pages.ts';

// Access to every page and form of owners, for one's own key, another owner's and an unknown one.

const UNKNOWN = 'zzzzzzzz';
const OF_ONE_KEY = PAGE_ROUTES.filter(({ path }) => path.startsWith('/developers/keys/:identifier'));
const OWNERS = PAGE_ROUTES.filter(({ path }) => path.startsWith('/developers/keys'));
const FORM = { name: 'Bot', description: DESCRIPTION, permissions: 'api.lookup', reason: 'Leaked.' };

/** The fields of {@link FORM} that a form has. */
const fieldsOf = (fields: object) => Object.entries(FORM).filter(([name]) => name in fields);

/** Everything that is stored about keys. */
const traces = ({ access: { db } }: OwnerWorld) =>
  JSON.stringify(['api_keys', 'key_events', 'mails'].map((name) => db.$client.query(`SELECT * FROM ${name}`).all()));

/** A response without the identifier that the client sent, the only difference between responses about different keys. */
const withoutOwn = (answer: PageAnswer, identifier: string) =>
  JSON.parse(JSON.stringify(answer).replaceAll(identifier, '…'));

const ask = (
  world: OwnerWorld,
  path: string,
  { method, fields = {} }: (typeof PAGE_ROUTES)[number],
  cookie = world.cookie,
) => visit(world, path, { cookie, ...(method === 'POST' && { form: fieldsOf(fields) }) });

test('every page and form responds to another owner’s key as to an unknown one, byte for byte, and changes nothing', async () => {
  const world = await ownerWorld();
  const { identifier: active } = await issue(world.access, { profile: BEA.username, name: 'Secret plan' });
  const pending = await request(world.access, { profile: BEA.username, name: 'Secret plan' });
  const before = traces(world);
  expect(OF_ONE_KEY.length).toBeGreaterThanOrEqual(7);
  for (const route of OF_ONE_KEY) {
    const at = (identifier: string) => ask(world, route.path.replace(':identifier', identifier), route);
    const unknown = withoutOwn(await at(UNKNOWN), UNKNOWN);
    expect([route.path, unknown.status, unknown.refusal]).toEqual([route.path, 404, 'not_found']);
    for (const identifier of [active, pending, otherCase(active), otherCase(pending)]) {
      expect(withoutOwn(await at(identifier), identifier)).toEqual(unknown);
    }
  }
  const successor = async (identifier: string) => [
    withoutOwn(
      await visit(world, `/developers/keys/new?successor-of=${identifier}`, { cookie: world.cookie }),
      identifier,
    ),
    withoutOwn(await visit(world, `/developers/keys/new?like=${identifier}`, { cookie: world.cookie }), identifier),
    withoutOwn(
      await visit(world, '/developers/keys/new', { cookie: world.cookie, form: { name: '', successorOf: identifier } }),
      identifier,
    ),
  ];
  const unknown = await successor(UNKNOWN);
  expect(unknown.map(({ status }) => status)).toEqual([404, 404, 404]);
  for (const identifier of [active, pending, otherCase(active)]) expect(await successor(identifier)).toEqual(unknown);
  expect((await visit(world, '/developers/keys', { cookie: world.cookie })).body).not.toContain('Secret plan');
  expect(traces(world)).toBe(before);
});

test('every page and form refuses an identifier in the wrong letter case, and names the right one of one’s own key', async () => {
  const world = await ownerWorld();
  const identifier = await request(world.access, { profile: ADA.username });
  const before = traces(world);
  const typed = otherCase(identifier);
  const answers = [
    await visit(world, `/developers/keys/new?successor-of=${typed}`, { cookie: world.cookie }),
    await visit(world, '/developers/keys/new', { cookie: world.cookie, form: { name: '', successorOf: typed } }),
  ];
  for (const route of OF_ONE_KEY) answers.push(await ask(world, route.path.replace(':identifier', typed), route));
  for (const { status, refusal, body } of answers) {
    expect([status, refusal]).toEqual([404, 'not_found']);
    expect(body).toContain(unknownButAlike(identifier));
  }
  expect(traces(world)).toBe(before);
});

test('every page and form of owners refuses admins, whatever the identifier, and asks visitors to sign in', async () => {
  const world = await ownerWorld({ PUBLIC_URL: 'http://localhost:8080' });
  const { identifier: active } = await issue(world.access, { profile: ADA.username });
  const pending = await request(world.access, { profile: ADA.username });
  const admin = `session=${(await signIn(world.access, await enrol(world.access, 'Grace'))).token}`;
  const before = traces(world);
  for (const route of OWNERS) {
    const answers = [];
    for (const identifier of [UNKNOWN, active, pending]) {
      const path = route.path.replace(':identifier', identifier);
      answers.push(withoutOwn(await ask(world, path, route, admin), identifier));
      const stranger = await ask(world, path, route, '');
      expect([route.path, stranger.status]).toEqual([route.path, route.method === 'POST' ? 403 : 303]);
    }
    expect(answers[0]).toMatchObject({ status: 403, refusal: 'forbidden' });
    for (const part of ['for owners, and you are signed in as the admin <bdi>Grace</bdi>', 'href="/developers/admin"'])
      expect(answers[0]?.body).toContain(part);
    expect(answers).toEqual(Array(3).fill(answers[0]));
  }
  expect(traces(world)).toBe(before);
});

test('signing in leads to the requested page with the parameters that it reads', async () => {
  const world = await ownerWorld();
  const wayOf = async (path: string) => valuesOf(await visit(world, path), 'location')[0];
  const door = '/developers/sign-in?next=%2Fdevelopers%2Fkeys';
  expect(await wayOf('/developers/keys/new?successor-of=k7Qm2XaB')).toBe(`${door}%2Fnew%3Fsuccessor-of%3Dk7Qm2XaB`);
  for (const query of ['other=1', 'successor-of=']) {
    expect(await wayOf(`/developers/keys/new?${query}`)).toBe(`${door}%2Fnew`);
  }
  // Only the encoded text of a value is kept, and no parameters that the page does not read.
  for (const query of ['successor-of=%2F%2Fevil%0d%0a', 'successor-of=//evil%0D%0A&other=b']) {
    expect(await wayOf(`/developers/keys/new?${query}`)).toBe(
      `${door}%2Fnew%3Fsuccessor-of%3D%252F%252Fevil%250D%250A`,
    );
  }
  const { body } = await visit(world, `${door}%2Fnew%3Fsuccessor-of%3Dk7Qm2XaB`);
  expect(body).toContain('name="next" value="/developers/keys/new?successor-of=k7Qm2XaB"');
});

describe('while an owner is signed in', () => {
  const see = (world: OwnerWorld, path = '') => visit(world, `/developers/keys${path}`, { cookie: world.cookie });

  test('a ban allows only viewing, withdrawing and revoking', async () => {
    const world = await ownerWorld();
    const { identifier: active } = await issue(world.access, { profile: 'ada' });
    const pending = await request(world.access, { profile: 'ada' });
    await importLines(world.access, [{ ...ADA, banned: true }]);
    const list = await see(world);
    expect(list.body).toContain('is banned. Its keys are refused while the ban lasts');
    expect(list.body).toContain('Until then you can look at keys, withdraw requests and revoke keys');
    expect(list.body).toContain('refused: profile banned');
    expect(list.body).not.toContain('/developers/keys/new');
    const page = (await see(world, `/${active}`)).body;
    expect([page.includes('/revoke"'), page.includes('/rename"'), page.includes('successor-of')]).toEqual([
      true,
      false,
      false,
    ]);
    expect(page).toContain('works again with the same secret when the ban is lifted.');
    expect(page).toContain('The profile was banned: its keys are refused until the ban is lifted');
    const send = (path: string, form: Record<string, string>) =>
      visit(world, `/developers/keys/${path}`, { cookie: world.cookie, form });
    const fields = { name: 'Bot', description: DESCRIPTION, permissions: 'api.lookup', successorOf: '' };
    for (const refused of [await send('new', fields), await send(`${active}/rename`, { name: 'New' })]) {
      expect([refused.status, refused.body.includes('The profile ada is banned')]).toEqual([422, true]);
    }
    expect((await see(world, '/new')).body).toContain('The profile ada is banned');
    expect((await send(`${pending}/withdraw`, {})).status).toBe(303);
    expect((await send(`${active}/revoke`, { reason: '' })).status).toBe(303);
    expect((await keysListed(world.access, {})).map(({ state }) => state)).toEqual(['revoked', 'withdrawn']);
  });

  test('a new username changes nothing, and another profile with the old one sees none of the keys', async () => {
    const world = await ownerWorld();
    const identifier = await request(world.access, { profile: 'ada' });
    await importLines(world.access, [
      { ...ADA, username: 'countess' },
      { ...BEA, username: 'ada' },
    ]);
    expect((await see(world)).body).toContain('<summary><bdi>countess</bdi></summary>');
    expect((await see(world, `/${identifier}`)).status).toBe(200);
    const fields = { name: 'Mine', description: DESCRIPTION, permissions: 'api.lookup', successorOf: '' };
    await visit(world, '/developers/keys/new', { cookie: world.cookie, form: fields });
    expect((await keysListed(world.access, { profile: 'countess' })).map(({ name }) => name)).toEqual(['Bot', 'Mine']);
    const bea = signInOwner(world.access, BEA.id);
    expect((await visit(world, `/developers/keys/${identifier}`, { cookie: bea })).status).toBe(404);
  });

  // test/shared/sign-ins/sessions.test.ts tries what else ends a session.
  test('a changed e-mail address ends the session at the next request, for pages and forms', async () => {
    const world = await ownerWorld();
    const identifier = await request(world.access, { profile: 'ada' });
    expect((await see(world, `/${identifier}`)).status).toBe(200);
    await importLines(world.access, [{ ...ADA, email: 'other@example.org' }]);
    const before = traces(world);
    for (const route of OWNERS) {
      const answer = await ask(world, route.path.replace(':identifier', identifier), route);
      expect([route.path, answer.status]).toEqual([route.path, route.method === 'POST' ? 403 : 303]);
    }
    expect(traces(world)).toBe(before);
  });
});

describe('a sign-in from a browser that the owner has not used before', () => {
  const codeOf = async (world: OwnerWorld) => {
    const asked = await visit(world, '/developers/sign-in', { form: { name: 'ada', address: ADA.email, next: '' } });
    return valuesOf(asked, 'set-cookie')[0]?.split(';')[0] as string;
  };
  const enter = (world: OwnerWorld, cookie: string) =>
    visit(world, '/developers/sign-in/code', {
      form: { code: world.lastCode(), next: '' },
      cookie,
      headers: { 'user-agent': 'profilectl on a machine of your bank, call +1 555 0100' },
    });
  const noticesOf = ({ access: { db } }: OwnerWorld) =>
    db.$client.query("SELECT body FROM mails WHERE kind = 'new-sign-in'").all() as { body: string }[];

  test('sends one e-mail, without any text of the browser, and the next one from the same browser sends none', async () => {
    const world = await ownerWorld();
    const first = await enter(world, await codeOf(world));
    expect(first.status).toBe(303);
    expect(noticesOf(world).map(({ body }) => /From +(.*)\n +With +(.*)\n/.exec(body)?.slice(1))).toEqual([
      ['192.0.2.7', 'A browser'],
    ]);
    const known = valuesOf(first, 'set-cookie')
      .find((value) => value.startsWith('known='))
      ?.split(';')[0];
    world.clock.advance(60_000);
    expect((await enter(world, `${await codeOf(world)}; ${known}`)).status).toBe(303);
    expect(noticesOf(world)).toHaveLength(1);
  });

  test('fails if the notification can’t be stored, and the code still works afterwards', async () => {
    const world = await ownerWorld();
    const cookie = await codeOf(world);
    const { sqlite } = world.access.sessions;
    sqlite.run("CREATE TRIGGER full BEFORE INSERT ON untold_sign_ins BEGIN SELECT raise(ABORT, 'no room'); END");
    const failed = await enter(world, cookie);
    expect([failed.status, valuesOf(failed, 'set-cookie')]).toEqual([500, []]);
    sqlite.run('DROP TRIGGER full');
    expect((await enter(world, cookie)).status).toBe(303);
  });

  test('does not wait while an import locks the database, and sends its e-mail afterwards', async () => {
    const world = await ownerWorld();
    const cookie = await codeOf(world);
    const other = openBare(world.access.config.databasePath, 'write');
    other.run('BEGIN IMMEDIATE');
    const sent = {
      form: { code: world.lastCode(), next: '' },
      cookie,
      headers: { 'user-agent': 'profilectl on a machine of your bank, call +1 555 0100' },
    };
    const entered = await askPages(world, '/developers/sign-in/code', sent);
    expect(entered.status).toBe(303);
    expect(world.services.background.running.size).toBe(1);
    expect(noticesOf(world)).toEqual([]);
    other.run('ROLLBACK');
    other.close();
    await settleBackground(world.services.background);
    expect(noticesOf(world).map(({ body }) => /From +(.*)\n +With +(.*)\n/.exec(body)?.slice(1))).toEqual([
      ['192.0.2.7', 'A browser'],
    ]);
    expect(world.access.sessions.sqlite.query('SELECT count(*) AS n FROM untold_sign_ins').get()).toEqual({ n: 0 });
  });

  test('sends its e-mail even after a restart, unless the profile’s address has changed by then', async () => {
    const world = await ownerWorld();
    for (const { id } of [ADA, BEA]) {
      const owner = readBinding(world.access.db, id) as Binding;
      storePendingSignInNotice(
        world.access.sessions.db,
        owner,
        { address: '192.0.2.7', agent: 'A browser' },
        world.clock.nowMs(),
      );
    }
    await importLines(world.access, [{ ...BEA, email: 'another@example.org' }]);
    sweep(world.services);
    await settleBackground(world.services.background);
    expect(noticesOf(world)).toHaveLength(1);
    expect(world.access.sessions.sqlite.query('SELECT count(*) AS n FROM untold_sign_ins').get()).toEqual({ n: 0 });
  });
});

describe('a found secret', () => {
  const give = (world: OwnerWorld, secret: string, address = '192.0.2.9') =>
    visit(world, '/developers/found', { form: { secret }, address });

  test('revokes its key at once, without signing in, and every text gets the same response byte for byte', async () => {
    const world = await ownerWorld();
    const { identifier, secret } = await issue(world.access, { profile: 'ada' });
    const texts = [secret, secret, `${secret.slice(0, -1)}0`, 'plk_', '<b>', '😀'.repeat(5_000)];
    const answers = [];
    for (const text of texts) answers.push(await give(world, text));
    expect(answers[0]).toMatchObject({ status: 303, refusal: null });
    expect(answers).toEqual(Array(texts.length).fill(answers[0]));
    const page = await visit(world, `/developers/keys/${identifier}`, { cookie: world.cookie });
    expect(page.body).toContain('on the page “Found a secret?”');
    expect((await visit(world, '/developers/found', { cookie: 'flash=found' })).body).toContain('Thank you.');
    expect(revokeLeakedKeys(world.access, secret)).toBeUndefined();
  });

  test('is requested again if nothing was pasted, without a thank-you', async () => {
    const answer = await give(await ownerWorld(), ' \r\n ');
    expect([answer.status, answer.refusal]).toEqual([422, 'refused_form']);
    expect(answer.body).toContain('<a href="#secret">Paste the secret that you found.</a>');
    expect(answer.body).not.toContain('Thank you');
  });

  test('is refused after 30 texts within a minute from one IP address, whether they contain secrets or not', async () => {
    const world = await ownerWorld();
    const { secret } = await issue(world.access, { profile: 'ada' });
    for (let n = 0; n < 30; n++) expect((await give(world, `text ${n}`)).status).toBe(303);
    const answer = await give(world, secret);
    expect([answer.status, answer.refusal, valuesOf(answer, 'retry-after').length]).toEqual([
      429,
      'too_many_failures',
      1,
    ]);
    expect(answer.body).not.toContain(secret);
    expect((await keysListed(world.access, {}))[0]?.state).toBe('Active');
    expect((await give(world, 'text', '2001:db8::1')).status).toBe(303);
    world.clock.advance(61_000);
    expect((await give(world, secret)).status).toBe(303);
    expect((await keysListed(world.access, {}))[0]?.state).toBe('revoked');
  });
});
