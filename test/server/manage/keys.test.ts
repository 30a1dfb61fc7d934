import { describe, expect, test } from 'bun:test';
import { settleBackground } from '../../../server/thread/background.ts';
import { changeKey } from '../../../shared/keys/life/change.ts';
import { editKey } from '../../../shared/keys/life/lifecycle.ts';
import type { KeyView } from '../../../shared/keys/view.ts';
import { showKey } from '../../../shared/keys/view.ts';
import type { Signed } from '../../../shared/sessions-file/whose.ts';
import { ownerToSign } from '../../../shared/sign-ins/binding.ts';
import { onBox } from '../../support/actors.ts';
import { otherCase, UNKNOWN_KEY, unknownButAlike } from '../../support/identifiers.ts';
import { DESCRIPTION, issue, request } from '../../support/keys.ts';
import { enrol, signIn } from '../../support/portal/admins.ts';
import { call, expectRefused, personTokenFor, tokenFor } from '../../support/portal/manage.ts';
import { useKey } from '../../support/portal/owner-pages.ts';
import { pageWorld, serverOfPages } from '../../support/portal/pages.ts';
import { insertProfile } from '../../support/profiles.ts';
import { drawHalf, seededRandom } from '../../support/rounds.ts';

// Keys under /manage/v1: who may perform which operation on which key.

const world = pageWorld({ PUBLIC_URL: 'http://localhost:3000' });
const { access, clock } = world;
const server = await serverOfPages(world);
const grace = personTokenFor(access, (await signIn(access, await enrol(access, 'Grace'))).signed);
const platform = tokenFor(access);

let profiles = 0;

/** A new profile, and a token of its owner. */
async function newOwner() {
  const id = ++profiles;
  const profile = `owner${id}`;
  insertProfile(access.db, { id, username: profile });
  return { id, profile, token: personTokenFor(access, ownerToSign(access, id) as Signed) };
}

const KEYS = '/manage/v1/keys';
const FIELDS = { name: 'Bot', description: DESCRIPTION, permissions: ['api.lookup'] };

/** The request of each operation on a key, or on the keys of a profile. */
const REQUESTS: Record<string, { method: string; path: (about: About) => string; body?: (about: About) => object }> = {
  list: { method: 'GET', path: ({ profile }) => `${KEYS}?profile=${profile}` },
  request: { method: 'POST', path: () => KEYS, body: ({ profile }) => ({ ...FIELDS, profile }) },
  show: { method: 'GET', path: ({ pending }) => `${KEYS}/${pending}` },
  rename: { method: 'PATCH', path: ({ pending }) => `${KEYS}/${pending}`, body: () => ({ name: 'Renamed' }) },
  usage: { method: 'GET', path: ({ active }) => `${KEYS}/${active}/usage?days=2` },
  approve: { method: 'POST', path: ({ pending }) => `${KEYS}/${pending}/approve`, body: () => ({}) },
  reject: { method: 'POST', path: ({ pending }) => `${KEYS}/${pending}/reject`, body: () => ({ reason: 'No.' }) },
  change: {
    method: 'POST',
    path: ({ active }) => `${KEYS}/${active}/change`,
    body: () => ({ rateLimits: [{ quota: 7, windowSeconds: 60 }] }),
  },
  revoke: { method: 'POST', path: ({ active }) => `${KEYS}/${active}/revoke`, body: () => ({ reason: 'Leaked.' }) },
  withdraw: { method: 'POST', path: ({ pending }) => `${KEYS}/${pending}/withdraw` },
};

/** The statuses for one's own key, another's and an unknown one, by kind of person; as in the table of operations. */
const LOOK = { owner: [200, 404, 404], admin: [200, 200, 404] };
const OWNERS_DO = { owner: [200, 404, 404], admin: [403, 403, 403] };
const DECIDE = { owner: [403, 403, 403], admin: ['page', 'page', 404] };
const ANSWERS: Record<string, Record<'owner' | 'admin', readonly (number | string)[]>> = {
  list: LOOK,
  request: { ...OWNERS_DO, owner: [201, 404, 404] },
  show: LOOK,
  rename: OWNERS_DO,
  usage: LOOK,
  approve: DECIDE,
  reject: DECIDE,
  change: DECIDE,
  revoke: { ...DECIDE, owner: [200, 404, 404] },
  withdraw: OWNERS_DO,
};

type About = { profile: string; pending: string; active: string };

const NOBODYS: About = { profile: 'nobody', pending: '00000000', active: '00000000' };

/** A pending and an Active key of a profile. */
async function keysOf(profile: string): Promise<About> {
  const pending = await request(access, { profile });
  return { profile, pending, active: (await issue(access, { profile })).identifier };
}

const ask = (operation: string, about: About, token: string) => {
  const { method, path, body } = REQUESTS[operation] as (typeof REQUESTS)[string];
  return call(server, path(about), token, { method, ...(body && { body: body(about) }) });
};

/** A response as the client sees it, without the headers that always differ. */
async function bytesOf(answer: Response): Promise<string> {
  const headers = [...answer.headers].filter(([name]) => name !== 'x-request-id' && name !== 'date');
  return JSON.stringify([answer.status, headers, await answer.text()]);
}

/** Everything that an operation could have changed. Meanwhile, the server sends the stored mails and marks them as sent. */
const traces = () =>
  JSON.stringify(
    ['* FROM api_keys', '* FROM key_events', '* FROM key_attempts', 'id, identifier, kind, about FROM notices'].map(
      (what) => access.db.$client.query(`SELECT ${what}`).all(),
    ),
  );

const chance = seededRandom('operations under /manage');

// test/doors.test.ts tries all operations.
describe('every operation, every kind of token, every key', () => {
  for (const operation of drawHalf(Object.keys(REQUESTS), chance)) {
    test(operation, async () => {
      const [ada, bea] = [await newOwner(), await newOwner()];
      const [own, others] = [await keysOf(ada.profile), await keysOf(bea.profile)];
      const abouts = [own, others, NOBODYS];
      // Until earlier requests have written everything.
      await settleBackground(world.services.background);
      const before = traces();
      for (const about of abouts) {
        await expectRefused(await ask(operation, about, platform), 403, 'forbidden');
      }
      for (const [kind, token] of [
        ['admin', grace],
        ['owner', ada.token],
      ] as const) {
        const wanted = ANSWERS[operation]?.[kind] ?? [];
        // Their own key comes last, because it may change.
        for (const at of [1, 2, 0]) {
          const answer = await ask(operation, abouts[at] as About, token);
          const kindOf = answer.headers.get('x-error-code') === 'decision_needed' ? 'page' : answer.status;
          expect([operation, kind, at, kindOf]).toEqual([operation, kind, at, wanted[at] as string]);
          if (!answer.ok) expect(traces()).toBe(before);
        }
        if (wanted[1] === 404) {
          const [other, none] = [await ask(operation, others, token), await ask(operation, NOBODYS, token)];
          expect(await bytesOf(other)).toBe(await bytesOf(none));
        }
      }
    });
  }
});

describe('an identifier that differs only in letter case from a key’s', () => {
  const ofOneKey = Object.keys(REQUESTS).filter((name) => name !== 'list' && name !== 'request');

  test('is refused with that key’s identifier if the person may see it; otherwise exactly like an unknown one', async () => {
    const [ada, bea] = [await newOwner(), await newOwner()];
    const [own, others] = [await keysOf(ada.profile), await keysOf(bea.profile)];
    const alike = (about: About): About => ({
      ...about,
      pending: otherCase(about.pending),
      active: otherCase(about.active),
    });
    for (const operation of ofOneKey) {
      // The operation's path says which of the profile's two keys it uses.
      const wanted = (about: About) =>
        unknownButAlike(REQUESTS[operation]?.path(about).includes(about.active) ? about.active : about.pending);
      const refused = async (about: About, token: string) =>
        expectRefused(await ask(operation, alike(about), token), 404, 'not_found');
      if (ANSWERS[operation]?.owner[0] !== 403) {
        expect(await refused(own, ada.token)).toBe(wanted(own));
        const [other, none] = [
          await ask(operation, alike(others), ada.token),
          await ask(operation, NOBODYS, ada.token),
        ];
        expect(await bytesOf(other)).toBe(await bytesOf(none));
      }
      if (ANSWERS[operation]?.admin[0] !== 403) {
        for (const about of [own, others]) expect(await refused(about, grace)).toBe(wanted(about));
        expect(await expectRefused(await ask(operation, NOBODYS, grace), 404, 'not_found')).toBe(UNKNOWN_KEY);
      }
    }
  });
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
    const kinds = access.db.$client.query("SELECT kind FROM notices WHERE recipient = 'owner' AND identifier = ?");
    expect(kinds.all(key.identifier)).toEqual([{ kind: 'submission' }, { kind: 'renaming' }]);
  });

  test('revokes their own key at once, with or without a reason', async () => {
    const { profile, token } = await newOwner();
    for (const body of [{}, { reason: null }, { reason: 'Not needed.' }]) {
      const { identifier } = await issue(access, { profile });
      const answer = await call(server, `${KEYS}/${identifier}/revoke`, token, { body });
      expect([answer.status, await answer.json()]).toMatchObject([200, { identifier, state: 'revoked' }]);
    }
  });

  test('is limited to five requests a day and three keys, and reads what is wrong with an input', async () => {
    const { token } = await newOwner();
    const post = (body: object) => call(server, KEYS, token, { body });
    const places: string[] = [];
    for (let time = 0; time < 3; time++) places.push(((await (await post(FIELDS)).json()) as KeyView).identifier);
    expect(await expectRefused(await post(FIELDS), 409, 'not_possible')).toContain('has 3 keys already');
    for (let time = 0; time < 2; time++) {
      await call(server, `${KEYS}/${places[time]}/withdraw`, token, { method: 'POST' });
      expect((await post(FIELDS)).status).toBe(201);
    }
    await call(server, `${KEYS}/${places[2]}/withdraw`, token, { method: 'POST' });
    const late = await post(FIELDS);
    expect(Number(late.headers.get('retry-after'))).toBeGreaterThan(0);
    await expectRefused(late, 429, 'too_many_requests');
    const wrong: [object, string][] = [
      [{ ...FIELDS, name: 7 }, 'The name must be a string.'],
      [{ ...FIELDS, permissions: 'api.lookup' }, 'The list of permissions must be a list of strings.'],
      [{ description: DESCRIPTION }, 'The name is missing.'],
    ];
    for (const [body, sentence] of wrong) expect(await expectRefused(await post(body), 400, 'bad_body')).toBe(sentence);
    await expectRefused(await post({ ...FIELDS, successorOf: '00000000' }), 404, 'not_found');
    await expectRefused(await post({ ...FIELDS, profile: ['a'] }), 400, 'bad_body');
  });
});

describe('errors in the input are reported only to those who may perform the operation', () => {
  /** Sends bodies and parameters that no operation accepts. */
  const send = async ({ method, path, body }: (typeof REQUESTS)[string], about: About, token: string) => [
    ...(body === undefined ? [] : [await call(server, path(about), token, { method, body: '{' })]),
    await call(server, `${path(about).split('?')[0]}?more=1`, token, { method, ...(body && { body: body(about) }) }),
  ];

  for (const [operation, sent] of drawHalf(Object.entries(REQUESTS), chance)) {
    test(operation, async () => {
      const [ada, bea] = [await newOwner(), await newOwner()];
      const [own, others] = [await keysOf(ada.profile), await keysOf(bea.profile)];
      const before = traces();
      for (const [kind, token] of [
        ['owner', ada.token],
        ['admin', grace],
      ] as const) {
        for (const [at, about] of [own, others, NOBODYS].entries()) {
          const wanted = ANSWERS[operation]?.[kind][at];
          // The profile of a request or a list is an input, which is checked later.
          const isLate = operation === 'list' || (operation === 'request' && wanted === 404);
          const status = wanted === 'page' ? 403 : wanted === 404 && !isLate ? 404 : wanted === 403 ? 403 : 400;
          for (const answer of await send(sent, about, token)) {
            expect([kind, at, answer.status]).toEqual([kind, at, status]);
          }
        }
      }
      expect(traces()).toBe(before);
    });
  }
});

describe('with If-Match, an operation is refused if the key has changed', () => {
  const shownOf = async (identifier: string, token: string) =>
    (await call(server, `${KEYS}/${identifier}`, token)).headers.get('etag') ?? '';

  for (const operation of ['rename', 'withdraw', 'revoke']) {
    test(operation, async () => {
      const { profile, token } = await newOwner();
      const about = await keysOf(profile);
      const { method, path, body } = REQUESTS[operation] as (typeof REQUESTS)[string];
      const target = path(about);
      const identifier = target.split('/')[4] as string;
      const send = (tag: string) =>
        call(server, target, token, { method, ...(body && { body: body(about) }), headers: { 'If-Match': tag } });
      const shown = await shownOf(identifier, token);
      expect(shown).toMatch(/^"[!#-~]+"$/);
      expect(await shownOf(identifier, token)).toBe(shown);
      // Owners can't change anything that a revocation depends on, so an admin does.
      if (operation === 'revoke')
        changeKey(access, {
          identifier,
          change: { expiresAtMs: null, permissions: ['api.leaderboard'] },
          by: onBox('root'),
        });
      else editKey(access, { identifier, name: 'Other', by: onBox('root') });
      const before = traces();
      const said = operation === 'revoke' ? 'its permissions, rate limits or expiry were changed' : 'it was renamed';
      const changed = `Key ${identifier} has changed since it was shown: ${said}. Nothing was done.`;
      expect(await expectRefused(await send(shown), 409, 'changed_since')).toBe(changed);
      const asProxiesSend = (tag: string) => [`W/${tag}`, tag.replace(/"$/, '-gzip"')];
      for (const tag of asProxiesSend(shown)) {
        expect(await expectRefused(await send(tag), 409, 'changed_since')).toBe(changed);
      }
      for (const tag of ['"x"', 'x', `${shown}, "x"`, '']) await expectRefused(await send(tag), 400, 'bad_parameter');
      expect(traces()).toBe(before);
      const [weak = '', packed = ''] = asProxiesSend(await shownOf(identifier, token));
      expect((await send(operation === 'rename' ? weak : operation === 'revoke' ? packed : '*')).status).toBe(200);
    });
  }

  test('but not an admin’s decision, which is made on a page', async () => {
    const { identifier } = await issue(access, { profile: (await newOwner()).profile });
    const path = `${KEYS}/${identifier}`;
    const headers = { 'If-Match': '"x"' };
    await expectRefused(await call(server, `${path}/withdraw`, grace, { method: 'POST', headers }), 403, 'forbidden');
    const decision = await call(server, `${path}/revoke`, grace, { method: 'POST', headers });
    expect(decision.headers.get('x-error-code')).toBe('decision_needed');
  });
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
    const bots = all.filter((_, at) => /bot/i.test(pages.flat()[at]?.name ?? ''));
    // The body names the cursor: an identifier, whose key's current position counts.
    const { keys: two, next } = (await (await call(server, `${open}&name=bot&limit=2`, grace)).json()) as List & {
      next: string;
    };
    expect([two.length, next]).toEqual([2, two[1]?.identifier as string]);
    const following = await read(`${open}&name=BOT&limit=1&after=${next}`);
    expect(following.keys.map(({ identifier }) => identifier)).toEqual([bots[bots.indexOf(next) + 1] as string]);
    const bystander = await newOwner();
    await expectRefused(await call(server, `${KEYS}?after=${next}`, bystander.token), 404, 'not_found');
    const active = await read(`${KEYS}?state=Active`);
    expect(active.lastUses[used]).toBe(new Date(clock.nowMs()).toISOString());
    const unused = await read(`${KEYS}?unused=90d`);
    expect(unused.keys).toEqual([]);
    clock.advance(100 * 86_400_000);
    // After that much time, people have to sign in again.
    const later = personTokenFor(access, (await signIn(access, await enrol(access, 'Hopper'))).signed);
    const { keys } = (await (await call(server, `${KEYS}?unused=90d`, later)).json()) as List;
    expect(keys.map(({ identifier }) => identifier)).toContain(used);
    for (const query of [
      'state=lost',
      'state=',
      'unused=much',
      'unused=9d&state=Active',
      'after=1',
      'cursor=1',
      'limit=0',
      'limit=x',
      'name=',
      'unused=999d',
    ]) {
      await expectRefused(await call(server, `${KEYS}?${query}`, later), 400, 'bad_parameter');
    }
    for (const days of ['0', '401', 'x', '1e1']) {
      await expectRefused(await call(server, `${KEYS}/${used}/usage?days=${days}`, later), 400, 'bad_parameter');
    }
    const usage = (await (await call(server, `${KEYS}/${used}/usage`, later)).json()) as { days: object[] };
    expect(usage.days.length).toBe(30);
  });
});
