import { describe, expect, test } from 'bun:test';
import { get, startTestServer } from '../../support/http.ts';
import { insertProfile } from '../../support/profiles.ts';
import { expectRefusal, giveKeysTo, keyFor } from '../../support/requests.ts';

const BASE = 'https://example.org/profiles/api/leaderboard';
const server = await startTestServer({ variables: { PUBLIC_URL: 'https://example.org/profiles/' } });
const { secret } = await keyFor(server.deps, ['1000000/1s'], ['api.leaderboard']);
const reader = await keyFor(server.deps, ['9/1s']);
for (let id = 1; id <= 120; id++) insertProfile(server.deps.db, { id, viewsCount: 1_000 - id, banned: id === 60 });
giveKeysTo(server.deps, 1);

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

  test('followed from the first page, list every profile once, and end', async () => {
    const seen: number[] = [];
    let query: string | undefined = '?limit=7';
    while (query !== undefined) {
      const answer = await ask(query);
      seen.push(...((await answer.json()) as Body).leaderboard.map((entry) => entry.id));
      query = answer.headers.get('link')?.match(/<[^>]*(\?[^>]*)>; rel="next"/)?.[1];
    }
    expect(seen).toEqual(Array.from({ length: 120 }, (_, index) => index + 1).filter((id) => id !== 60));
  });
});

test('pages beyond the end are empty', async () => {
  for (const query of ['?offset=119', '?offset=9999', '?limit=100&offset=5000']) {
    expect(await (await ask(query)).json()).toMatchObject({ leaderboard: [], total: 119 });
  }
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
    await expectRefusal(await ask('?limit=5&&offset=1'), 400);
    await expectRefusal(await ask('?limit=5&'), 400);
  });
});
