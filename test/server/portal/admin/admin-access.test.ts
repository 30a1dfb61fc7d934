import { expect, test } from 'bun:test';
import { PAGE_ROUTES } from '../../../../server/portal/routes.ts';
import { removeAdmin } from '../../../../shared/admins/admins.ts';
import { onBox } from '../../../support/actors.ts';
import { otherCase, UNKNOWN_KEY, unknownButAlike } from '../../../support/identifiers.ts';
import { issue, request } from '../../../support/keys.ts';
import { adminWorld, signInAdmin } from '../../../support/portal/admin-pages.ts';
import { type PageWorld, signInOwner, valuesOf, visit } from '../../../support/portal/pages.ts';

// Access to every page and form of admins, for a pending key, an Active one and an unknown identifier.

const ADMINS = PAGE_ROUTES.filter(({ path }) => /^\/developers\/admin(?!\/sign-in$)/.test(path));
const UNKNOWN = 'zzzzzzzz';
const FORM = { operation: 'revoke', reason: 'Leaked.', shown: 'x' };

/** Everything that is stored about keys and people. */
const traces = ({ access: { db } }: PageWorld) =>
  JSON.stringify(
    ['api_keys', 'key_events', 'mails', 'admins', 'passkeys', 'people_events'].map((name) =>
      db.$client.query(`SELECT * FROM ${name}`).all(),
    ),
  );

const ask = (world: PageWorld, path: string, { method, fields = {} }: (typeof ADMINS)[number], cookie: string) =>
  visit(world, path, {
    cookie,
    ...(method === 'POST' && { form: Object.entries(FORM).filter(([name]) => name in fields) }),
  });

/** A world with two keys of Ada; `pathsOf` returns the paths of a route for each of them and for two unknown identifiers. */
async function worldWithKeys() {
  const world = await adminWorld();
  const admin = await signInAdmin(world, 'Grace');
  const { identifier } = await issue(world.access, { profile: 'ada' });
  const pending = await request(world.access, { profile: 'ada' });
  const identifiers = [UNKNOWN, identifier, pending, otherCase(pending)];
  const pathsOf = ({ path }: (typeof ADMINS)[number]) => identifiers.map((one) => path.replace(/:\w+/, one));
  return { world, admin, identifiers, pathsOf };
}

test('every page and form of admins refuses an owner in the same way, for their own key, another key and an unknown one', async () => {
  const { world, pathsOf } = await worldWithKeys();
  const owner = signInOwner(world.access, 7);
  const before = traces(world);
  expect(ADMINS.length).toBeGreaterThanOrEqual(6);
  for (const route of ADMINS) {
    const answers = await Promise.all(pathsOf(route).map((path) => ask(world, path, route, owner)));
    const plain = answers.map(({ status, refusal, body }) => ({ status, refusal, body: body.replace(/<dl.*/s, '') }));
    expect(plain[0]).toMatchObject({ status: 403, refusal: 'forbidden' });
    for (const part of ['for admins, and you are signed in as the owner <bdi>ada</bdi>', 'href="/developers/keys"'])
      expect(plain[0]?.body).toContain(part);
    const withoutPath = plain.map((answer, at) => JSON.stringify(answer).replaceAll(pathsOf(route)[at] as string, '…'));
    expect(new Set(withoutPath).size).toBe(1);
  }
  expect(traces(world)).toBe(before);
});

test('the head of a page has the links for its visitor, and each leads to a page', async () => {
  const { world, admin } = await worldWithKeys();
  const linksFor = async (cookie: string) => {
    const { body } = await visit(world, '/developers', { cookie });
    const nav = /<nav.*?<\/nav>/s.exec(body)?.[0] ?? '';
    return [...nav.matchAll(/href="([^"]+)"/g)].map(([, path = '']) => path);
  };
  const own = ['/developers/keys', '/docs', '/developers/sessions'];
  const admins = [
    ...['/developers/admin', '/developers/admin/keys', '/developers/admin/overview', '/developers/admin/log'],
    ...['/developers/admin/people', '/developers/sessions'],
  ];
  expect(await linksFor('')).toEqual(['/docs', '/developers/sign-in']);
  for (const [cookie, links] of [
    [signInOwner(world.access, 7), own],
    [admin.cookie, admins],
  ] as const) {
    expect(await linksFor(cookie)).toEqual([...links]);
    for (const path of links.filter((one) => one !== '/docs'))
      expect([path, (await visit(world, path, { cookie })).status]).toEqual([path, 200]);
  }
});

test('every page and form refuses an identifier in the wrong letter case and names the right one', async () => {
  const { world, admin, identifiers } = await worldWithKeys();
  const before = traces(world);
  const ofOneKey = ADMINS.filter(({ path }) => path.startsWith('/developers/admin/keys/:identifier'));
  expect(ofOneKey.length).toBeGreaterThanOrEqual(2);
  for (const route of ofOneKey) {
    for (const identifier of identifiers.slice(1, 3)) {
      const at = (one: string) => ask(world, route.path.replace(':identifier', one), route, admin.cookie);
      const { status, body } = await at(otherCase(identifier));
      expect([route.path, status]).toEqual([route.path, 404]);
      expect(body).toContain(unknownButAlike(identifier));
      expect((await at(UNKNOWN)).body).toContain(UNKNOWN_KEY);
    }
  }
  expect(traces(world)).toBe(before);
});

test('every page redirects removed admins to the sign-in, and every form refuses them', async () => {
  const { world, admin, pathsOf } = await worldWithKeys();
  expect((await visit(world, '/developers/admin', admin)).status).toBe(200);
  removeAdmin(world.access, 'Grace', onBox('root'));
  const before = traces(world);
  for (const route of ADMINS) {
    for (const path of pathsOf(route)) {
      const answer = await ask(world, path, route, admin.cookie);
      if (route.method === 'POST') expect([path, answer.status, answer.refusal]).toEqual([path, 403, 'signed_out']);
      else expect(valuesOf(answer, 'location')[0]).toStartWith('/developers/admin/sign-in?next=');
    }
  }
  expect(traces(world)).toBe(before);
});
