import { beforeAll, describe, expect, test } from 'bun:test';
import { KEY_STATES } from '../../../shared/db/schema.ts';
import { newSecret } from '../../../shared/keys/secret.ts';
import { systemRandom } from '../../../shared/random.ts';
import { get, startTestServer } from '../../support/http.ts';
import { keyFor, keyIn, mailedSecrets, prepare } from '../../support/keys.ts';
import { insertProfile } from '../../support/profiles.ts';
import { expectRefusal } from '../refusals.ts';

// Every refusal, on one route. test/server/app.test.ts tries every route of the application.

const REALM = 'Bearer realm="profile-lookup"';
const INVALID = `${REALM}, error="invalid_token"`;

const server = await startTestServer();
const secret = await prepare(server.deps);

/** Failed logins count against the IP address for a minute. */
const nextMinute = () => server.deps.clock.advance(60_001);

const ask = (path: string, authorization?: string, init: RequestInit = {}) =>
  get(server, path, null, { ...init, headers: authorization === undefined ? {} : { authorization } });

test('malformed credentials, or of another scheme, are as good as none', async () => {
  nextMinute();
  const malformed = [
    'Bearer',
    'Bearer a b',
    'Bearer a,b',
    'Bearer "a"',
    'Basic dTpw',
    'Token abc',
    'Bearer é',
    'Bearer\ta',
  ];
  for (const value of [...malformed, secret, `Bearer ${secret}, Bearer ${secret}`]) {
    await expectRefusal(await ask('/api/key', value), 401, { 'WWW-Authenticate': REALM, RateLimit: null });
  }
});

describe('keys that don’t work get one sentence', () => {
  const bad = new Map<string, string>();

  beforeAll(async () => {
    const { deps } = server;
    for (const [index, state] of KEY_STATES.filter((one) => one !== 'Active').entries()) {
      const id = insertProfile(deps.db, { id: 100 + index });
      const identifier = await keyIn(state, deps, `user${id}`);
      const [mailed] = mailedSecrets(deps, identifier);
      expect([state, mailed === undefined]).toEqual([state, ['pending', 'rejected', 'withdrawn'].includes(state)]);
      bad.set(state, mailed ?? newSecret(identifier, systemRandom));
    }
    const banned = await keyFor(deps, ['9/1m']);
    deps.db.$client.run(
      "UPDATE profiles SET profile = json_set(profile, '$.banned', json('true')) WHERE id = (SELECT profile_id FROM api_keys WHERE identifier = ?)",
      [banned.identifier],
    );
    bad.set('of a banned profile', banned.secret);
    bad.set('unknown', newSecret('00000000', systemRandom));
    bad.set('of an Active key, but another secret', newSecret(secret.slice(4, 12), systemRandom));
    bad.set('mistyped', secret.slice(0, -1) + (secret.endsWith('0') ? '1' : '0'));
    bad.set('no key of ours', 'abc');
    bad.set('with padding', `${secret}=`);
    bad.set('enormous', 'a'.repeat(8_000));
  });

  test('and one set of headers', async () => {
    nextMinute();
    const sentences = new Set<string>();
    for (const value of bad.values()) {
      const answer = await ask('/api/key', `Bearer ${value}`);
      sentences.add(await expectRefusal(answer, 401, { 'WWW-Authenticate': INVALID, RateLimit: null }));
    }
    expect(bad.size).toBe(KEY_STATES.length - 1 + 7);
    expect(sentences.size).toBe(1);
  });
});

describe('a valid key', () => {
  test('is accepted with a scheme in any letter case, and with several spaces', async () => {
    for (const scheme of ['bearer', 'BEARER', 'bEaReR', 'Bearer  ']) {
      expect((await ask('/api/key', `${scheme} ${secret}`)).status).toBe(200);
    }
  });

  test('is refused without the permission, after the method is checked, and before the parameters', async () => {
    const { secret: lesser } = await keyFor(server.deps, ['3/1m'], ['api.lookup']);
    const scope = `${REALM}, error="insufficient_scope", scope="api.leaderboard"`;
    const counted = (left: number) => ({ 'WWW-Authenticate': scope, RateLimit: `"1m";r=${left};t=60` });
    const board = '/api/leaderboard';
    expect(await expectRefusal(await get(server, board, lesser), 403, counted(2))).toContain('api.leaderboard');
    await expectRefusal(await get(server, `${board}?nope=1`, lesser), 403, counted(1));
    await expectRefusal(await get(server, board, lesser, { method: 'POST' }), 405);
  });

  test('over a rate limit is refused before the method is checked', async () => {
    const { secret: narrow } = await keyFor(server.deps, ['1/1m', '5/1h']);
    const first = await get(server, '/api/lookup/uid/7', narrow);
    expect(first.headers.get('ratelimit')).toBe('"1m";r=0;t=60, "1h";r=4;t=3600');
    server.deps.clock.advance(1_500);
    for (const method of ['GET', 'POST']) {
      await expectRefusal(await get(server, '/api/lookup/uid/7', narrow, { method }), 429, {
        'Retry-After': '59',
        RateLimit: '"1m";r=0;t=58',
        'RateLimit-Policy': '"1m";q=1;w=60, "1h";q=5;w=3600',
        'WWW-Authenticate': null,
      });
    }
  });

  test('finds nothing at a path with one slash or segment more or less', async () => {
    const { secret: counted } = await keyFor(server.deps, ['9/1m']);
    const paths = ['/api/', '/api/nothing', '/api/key/', '/api/lookup/uid/', '/api/lookup/uid/7/links/'];
    for (const [index, path] of paths.entries()) {
      await expectRefusal(await get(server, path, counted), 404, { RateLimit: `"1m";r=${8 - index};t=60` });
    }
  });

  test('is told which parameter is unknown, unless its name is malformed or may be a secret', async () => {
    for (const [query, named] of [
      ['nope=1', 'nope'],
      ['NOPE', 'NOPE'],
      ['callback[]=x', 'callback[]'],
      ['%zz=1', 'A query parameter'],
      ['=1', 'A query parameter'],
      [`${secret}=1`, 'A query parameter'],
    ] as const) {
      const answer = await get(server, `/api/key?${query}`, secret);
      expect(await expectRefusal(answer, 400, { RateLimit: /^"1s"/ })).toContain(named);
    }
  });
});

test('outside the API, paths are found exactly as they are written', async () => {
  for (const path of ['/nothing', '/apix', '/API/key', '/healthz/', '/openapi-json']) {
    await expectRefusal(await get(server, path, secret), 404, { RateLimit: null });
  }
});

test('a server error is a 500 that reveals nothing, counts, and is logged with its cause under the request id', async () => {
  const { deps, log } = server;
  const { secret: counted } = await keyFor(deps, ['9/1m']);
  deps.db.$client.run('ALTER TABLE profile_names RENAME TO other_names');
  const answer = await get(server, '/api/lookup/username/ada', counted);
  deps.db.$client.run('ALTER TABLE other_names RENAME TO profile_names');
  const requestId = answer.headers.get('x-request-id');
  expect(await expectRefusal(answer, 500, { RateLimit: '"1m";r=8;t=60' })).toBe(
    'The server failed to answer this request.',
  );
  const line = log.find((entry) => entry.level === 'error' && entry.requestId === requestId);
  expect(line?.cause).toContain('no such table: profile_names');
  expect(log.find((entry) => entry.status === 500)).toMatchObject({ requestId, level: 'info' });
});
