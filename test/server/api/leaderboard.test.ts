import { describe, expect, test } from 'bun:test';
import { parseRateLimit } from '../../../shared/limits/rate-limit.ts';
import { get, startTestServer } from '../../support/http.ts';
import { issue } from '../../support/keys.ts';
import { changeByHand, insertProfile } from '../../support/profiles.ts';
import { expectRefusal } from '../refusals.ts';

const BASE = 'https://example.org/profiles/api/leaderboard';
const server = await startTestServer({ variables: { PUBLIC_URL: 'https://example.org/profiles/' } });
for (let id = 1; id <= 120; id++) insertProfile(server.deps.db, { id, viewsCount: 1_000 - id, banned: id === 60 });
const rateLimits = [parseRateLimit('1000000/1s')];
const { secret } = await issue(server.deps, { permissions: ['api.leaderboard'] }, { rateLimits });
const reader = await issue(server.deps, {}, { rateLimits });

type Body = { leaderboard: { rank: number; id: number }[]; limit: number; offset: number; total: number };

const ask = (query: string) => get(server, `/api/leaderboard${query}`, secret);

test('the default page has fifty entries: the rank, then the profile', async () => {
  const answer = await ask('');
  const body = (await answer.json()) as Body;
  expect(Object.keys(body)).toEqual(['leaderboard', 'limit', 'offset', 'total']);
  expect(body).toMatchObject({ limit: 50, offset: 0, total: 119 });
  expect(body.leaderboard.length).toBe(50);
  const profile = await get(server, '/api/lookup/uid/1', reader.secret);
  expect(body.leaderboard.slice(0, 1)).toEqual([
    { ...((await profile.json()) as Body['leaderboard'][number]), rank: 1 },
  ]);
  expect(Object.keys(body.leaderboard[0] ?? {}).slice(0, 3)).toEqual(['rank', 'id', 'username']);
});

describe('links to the next and previous page', () => {
  const next = (limit: number, offset: number) => `<${BASE}?limit=${limit}&offset=${offset}>; rel="next"`;
  const prev = (limit: number, offset: number) => `<${BASE}?limit=${limit}&offset=${offset}>; rel="prev"`;
  const wanted: [string, string | null][] = [
    ['', next(50, 50)],
    ['?offset=50', `${next(50, 100)}, ${prev(50, 0)}`],
    ['?offset=20', `${next(50, 70)}, ${prev(50, 0)}`],
    ['?offset=100', prev(50, 50)],
    ['?limit=100&offset=19', prev(100, 0)],
    ['?limit=100&offset=18', `${next(100, 118)}, ${prev(100, 0)}`],
    ['?limit=1&offset=118', prev(1, 117)],
    ['?limit=1&offset=119', prev(1, 118)],
    ['?limit=100', next(100, 100)],
    ['?offset=9999', prev(50, 9_949)],
  ];
  for (const [query, link] of wanted) {
    test(query || 'the first page', async () => {
      expect((await ask(query)).headers.get('link')).toBe(link);
    });
  }

  test('are on a 304 too', async () => {
    const headers = { 'If-None-Match': '*' };
    const unchanged = await get(server, '/api/leaderboard?limit=1&offset=118', secret, { headers });
    expect([unchanged.status, unchanged.headers.get('link')]).toEqual([304, prev(1, 117)]);
  });
});

test('a profile that does not want to be listed is left out before ranking, and lookups of it stay the same byte for byte', async () => {
  const { deps } = server;
  const list = (showOnLeaderboard: boolean) => changeByHand(deps, 'user2', { showOnLeaderboard });
  const board = async () => {
    const { leaderboard, total } = (await (await ask('?limit=3')).json()) as Body;
    return [leaderboard.map(({ id, rank }) => [id, rank]), total];
  };
  const lookups = () =>
    Promise.all(
      ['username/user2', 'uid/2', 'uid/2/links', 'username/user2/links'].map(async (path) => {
        const answer = await get(server, `/api/lookup/${path}`, reader.secret);
        const headers = [...answer.headers].filter(([name]) => !/^(x-request-id|ratelimit|date$)/.test(name));
        return [path, answer.status, await answer.text(), headers];
      }),
    );
  const [listed, said] = [await board(), await lookups()];
  list(false);
  expect(await board()).toEqual([
    [
      [1, 1],
      [3, 2],
      [4, 3],
    ],
    118,
  ]);
  expect(await lookups()).toEqual(said);
  list(true);
  expect(await board()).toEqual(listed);
});

describe('parameters', () => {
  const good = ['?limit=1', '?limit=100', '?offset=0', '?limit=%35', '?limi%74=5', '?', '?offset=9999&limit=100'];
  for (const query of good) {
    test(`${query} is accepted`, async () => expect((await ask(query)).status).toBe(200));
  }

  const bad = [
    '',
    '0',
    '101',
    '-1',
    '+5',
    '%2B5',
    '5.0',
    '1e1',
    '05',
    '0x5',
    ' 5',
    '5+',
    '%205',
    '٥',
    '5%00',
    '%zz',
    'ten',
    '9'.repeat(400),
    '5,6',
    'NaN',
    'Infinity',
    'null',
  ];
  for (const value of bad) {
    test(`limit=${value.slice(0, 20)} gets a 400 that says what is allowed`, async () => {
      const sentence = await expectRefusal(await ask(`?limit=${value}`), 400);
      if (value !== '%zz') expect(sentence).toBe('limit must be a whole number from 1 to 100.');
      else expect(sentence).toBe('limit must be percent-encoded UTF-8.');
    });
  }

  for (const query of ['?offset=10000', '?offset=-0', '?offset=', '?offset', '?offset=99999999999']) {
    test(`${query} gets a 400`, async () => {
      expect(await expectRefusal(await ask(query), 400)).toBe('offset must be a whole number from 0 to 9999.');
    });
  }

  test('a repeated parameter, or an empty one between two ampersands, gets a 400', async () => {
    expect(await expectRefusal(await ask('?limit=5&limit=6'), 400)).toBe('limit may be given only once.');
    expect(await expectRefusal(await ask('?limit=5&limi%74=5'), 400)).toBe('limit may be given only once.');
    await expectRefusal(await ask('?limit=5&&offset=1'), 400);
    await expectRefusal(await ask('?limit=5&'), 400);
  });
});
