import { describe, expect, test } from 'bun:test';
import { editKey, withdrawKey } from '../../../shared/keys/life/lifecycle.ts';
import { type KeyView, showKey } from '../../../shared/keys/view.ts';
import type { Signed } from '../../../shared/sessions-file/whose.ts';
import { ownerToSign } from '../../../shared/sign-ins/binding.ts';
import { onBox } from '../../support/actors.ts';
import { otherCase, UNKNOWN_KEY, unknownButAlike } from '../../support/identifiers.ts';
import { DESCRIPTION, issue, request } from '../../support/keys.ts';
import { enrol, signIn } from '../../support/portal/admins.ts';
import { call, expectRefused, personTokenFor } from '../../support/portal/manage.ts';
import { useKey } from '../../support/portal/owner-pages.ts';
import { pageWorld, serverOfPages } from '../../support/portal/pages.ts';
import { insertProfile } from '../../support/profiles.ts';

// Keys under /manage/v1. test/doors.test.ts tries who may perform which operation on which key.

const world = pageWorld({ PUBLIC_URL: 'http://localhost:3000' });
const { access, clock } = world;
const server = await serverOfPages(world);
const grace = personTokenFor(access, (await signIn(access, await enrol(access, 'Grace'))).signed);

let profiles = 0;

/** A new profile, and a token of its owner. */
async function newOwner() {
  const id = ++profiles;
  const profile = `owner${id}`;
  insertProfile(access.db, { id, username: profile });
  return { id, profile, token: personTokenFor(access, ownerToSign(access, id) as Signed) };
}

const KEYS = '/manage/v1/keys';
const UNKNOWN = '00000000';
const FIELDS = { name: 'Bot', description: DESCRIPTION, permissions: ['api.lookup'] };

/** Everything that an operation could have changed. Meanwhile, the server sends the stored mails and marks them as sent. */
const traces = () =>
  JSON.stringify(
    ['* FROM api_keys', '* FROM key_events', '* FROM key_attempts', 'id, identifier, kind, body FROM mails'].map(
      (what) => access.db.$client.query(`SELECT ${what}`).all(),
    ),
  );

test('an identifier that differs only in letter case from a key’s is refused with that key’s identifier if the person may see it; otherwise like an unknown one', async () => {
  const [ada, bea] = [await newOwner(), await newOwner()];
  const own = await request(access, { profile: ada.profile });
  const others = await request(access, { profile: bea.profile });
  const refused = async (identifier: string, token: string) =>
    expectRefused(await call(server, `${KEYS}/${identifier}`, token), 404, 'not_found');
  expect(await refused(otherCase(own), ada.token)).toBe(unknownButAlike(own));
  expect(await refused(otherCase(others), grace)).toBe(unknownButAlike(others));
  expect(await refused(UNKNOWN, grace)).toBe(UNKNOWN_KEY);
  expect(await refused(otherCase(others), ada.token)).toBe(UNKNOWN_KEY);
});

describe('an owner', () => {
  test('requests a key for their own profile, receives its URL, renames and withdraws it', async () => {
    const { profile, token } = await newOwner();
    const body = { ...FIELDS, projectUrl: 'https://example.org', expectedUsage: null };
    const made = await call(server, KEYS, token, { body });
    const key = (await made.json()) as KeyView;
    expect([made.status, made.headers.get('location')]).toEqual([
      201,
      `http://localhost:3000${KEYS}/${key.identifier}`,
    ]);
    expect(key).toEqual(showKey(access, key.identifier, 'owner'));
    expect(key).toMatchObject({ profile, state: 'pending', projectUrl: 'https://example.org' });
    const renamed = await call(server, `${KEYS}/${key.identifier}`, token, { method: 'PATCH', body: { name: 'New' } });
    expect(await renamed.json()).toMatchObject({ name: 'New' });
    const shown = (await (await call(server, `${KEYS}/${key.identifier}`, token)).json()) as { history: object[] };
    expect(shown.history).toMatchObject([
      { event: 'requested', by: 'you' },
      { event: 'edited', by: 'you', detail: { nameBefore: 'Bot', nameAfter: 'New' } },
    ]);
    const withdrawn = await call(server, `${KEYS}/${key.identifier}/withdraw`, token, { method: 'POST' });
    expect(await withdrawn.json()).toMatchObject({ state: 'withdrawn' });
    const again = await call(server, `${KEYS}/${key.identifier}/withdraw`, token, { method: 'POST' });
    expect(await expectRefused(again, 409, 'not_possible')).toContain('is withdrawn');
    // The owner is notified by mail, as on pages.
    const kinds = access.db.$client.query('SELECT kind FROM mails WHERE `to` IS NULL AND identifier = ?');
    expect(kinds.all(key.identifier)).toEqual([{ kind: 'submission' }, { kind: 'renaming' }]);
  });

  test('is told when to try again after five requests in a day, and what is wrong with an input', async () => {
    const { token } = await newOwner();
    const post = (body: object) => call(server, KEYS, token, { body });
    for (let time = 0; time < 5; time++) {
      const { identifier } = (await (await post(FIELDS)).json()) as KeyView;
      withdrawKey(access, { identifier, by: onBox('owner') });
    }
    const late = await post(FIELDS);
    expect(Number(late.headers.get('retry-after'))).toBeGreaterThan(0);
    await expectRefused(late, 429, 'too_many_requests');
    expect(await expectRefused(await post({ ...FIELDS, name: 7 }), 400, 'bad_body')).toBe('The name must be a string.');
  });
});

test('errors in a query or a body are reported only to those who may perform the operation', async () => {
  const [ada, bea] = [await newOwner(), await newOwner()];
  const identifiers = [
    await request(access, { profile: ada.profile }),
    await request(access, { profile: bea.profile }),
    UNKNOWN,
  ];
  const before = traces();
  for (const [method, path, who, statuses] of [
    ['PATCH', '', 'owner', [400, 404, 404]],
    ['PATCH', '', 'admin', [403, 403, 403]],
    ['POST', '/approve', 'owner', [403, 403, 403]],
    ['POST', '/approve', 'admin', [403, 403, 404]],
  ] as const) {
    const token = who === 'owner' ? ada.token : grace;
    const send = async (more: string, body: unknown) => {
      const asked = identifiers.map((one) => call(server, `${KEYS}/${one}${path}${more}`, token, { method, body }));
      return (await Promise.all(asked)).map(({ status }) => status);
    };
    expect([method, who, await send('?more=1', {})]).toEqual([method, who, [...statuses]]);
    expect([method, who, await send('', '{')]).toEqual([method, who, [...statuses]]);
  }
  expect(traces()).toBe(before);
});

test('with If-Match, an operation is refused if the key has changed', async () => {
  const { profile, token } = await newOwner();
  const identifier = await request(access, { profile });
  const path = `${KEYS}/${identifier}`;
  const tag = async () => (await call(server, path, token)).headers.get('etag') ?? '';
  const rename = (sent: string) =>
    call(server, path, token, { method: 'PATCH', body: { name: 'Renamed' }, headers: { 'If-Match': sent } });
  const shown = await tag();
  expect(shown).toMatch(/^"[!#-~]+"$/);
  expect(await tag()).toBe(shown);
  editKey(access, { identifier, name: 'Other', by: onBox('root') });
  const before = traces();
  const changed = `Key ${identifier} has changed since it was shown: it was renamed. Nothing was done.`;
  const asProxiesSend = (sent: string) => [`W/${sent}`, sent.replace(/"$/, '-gzip"')];
  for (const sent of [shown, ...asProxiesSend(shown)])
    expect(await expectRefused(await rename(sent), 409, 'changed_since')).toBe(changed);
  for (const sent of ['"x"', 'x', `${shown}, "x"`, '']) await expectRefused(await rename(sent), 400, 'bad_parameter');
  expect(traces()).toBe(before);
  for (const as of [0, 1]) expect((await rename(asProxiesSend(await tag())[as] as string)).status).toBe(200);
  expect((await rename('*')).status).toBe(200);
});

describe('lists', () => {
  test('have pages of 50 with a link to the next, the last uses of keys, and filters', async () => {
    const made: string[] = [];
    const owners = await Promise.all(Array.from({ length: 18 }, newOwner));
    clock.advance(1);
    for (const { profile } of owners) {
      for (let time = 0; time < 3; time++) made.push(await request(access, { profile }));
    }
    const { identifier: used } = await issue(access, { profile: (await newOwner()).profile });
    useKey(access, used, 1);
    type List = { keys: KeyView[]; lastUses: Record<string, string> };
    const read = async (path: string) => {
      const answer = await call(server, path, grace);
      const next = /^<http:\/\/localhost:3000(\S+)>; rel="next"$/.exec(answer.headers.get('link') ?? '')?.[1];
      return { ...((await answer.json()) as List), next };
    };
    const pages: KeyView[][] = [];
    const open = `${KEYS}?state=pending,Active`;
    for (let path: string | undefined = open; path !== undefined; ) {
      const page: Awaited<ReturnType<typeof read>> = await read(path);
      pages.push(page.keys);
      path = page.next;
    }
    const all = pages.flat().map(({ identifier }) => identifier);
    expect(pages.slice(0, -1).every(({ length }) => length === 50)).toBe(true);
    expect([pages.length > 1, new Set(all).size]).toEqual([true, all.length]);
    expect(made.filter((one) => !all.includes(one))).toEqual([]);
    // The body names the cursor: an identifier, whose key's current position counts.
    const { keys: two, next } = (await (await call(server, `${open}&limit=2`, grace)).json()) as List & {
      next: string;
    };
    expect([two.length, next]).toEqual([2, two[1]?.identifier as string]);
    const following = await read(`${open}&limit=1&after=${next}`);
    expect(following.keys.map(({ identifier }) => identifier)).toEqual([all[all.indexOf(next) + 1] as string]);
    const bystander = await newOwner();
    await expectRefused(await call(server, `${KEYS}?after=${next}`, bystander.token), 404, 'not_found');
    const active = await read(`${KEYS}?state=Active`);
    expect(active.lastUses[used]).toBe(new Date(clock.nowMs()).toISOString());
    for (const query of ['state=', 'limit=x', 'unused=90d'])
      await expectRefused(await call(server, `${KEYS}?${query}`, grace), 400, 'bad_parameter');
    await expectRefused(await call(server, `${KEYS}/${used}/usage?days=x`, grace), 400, 'bad_parameter');
    const usage = (await (await call(server, `${KEYS}/${used}/usage`, grace)).json()) as { days: object[] };
    expect(usage.days.length).toBe(30);
  });
});
