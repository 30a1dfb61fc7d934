import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { MANY_MAX } from '../../../server/api/lookup-many.ts';
import { FoundProfiles } from '../../../shared/api/bodies.ts';
import { get, startTestServer } from '../../support/http.ts';
import { keyFor, prepare } from '../../support/keys.ts';
import { insertProfile } from '../../support/profiles.ts';
import { rounds } from '../../support/rounds.ts';
import { expectRefusal } from '../refusals.ts';

const server = await startTestServer();
const secret = await prepare(server.deps);
insertProfile(server.deps.db, { id: 8, username: 'a b', aliases: ['ab'], authId: 'x|a+b' });
insertProfile(server.deps.db, { id: 9, username: 'banned', banned: true, showFollowersCount: false });

const ask = (query: string, by = secret) => get(server, `/api/lookup?${query}`, by);

async function answered(query: string) {
  const answer = await ask(query);
  expect(answer.status).toBe(200);
  const body = FoundProfiles.parse(await answer.json());
  return { found: body.profiles.map(({ query, profile }) => [query, profile.id]), missing: body.missing };
}

/** A query for `count` distinct names that no profile has. */
const nobody = (count: number) => Array.from({ length: count }, (_, index) => `username=nobody${index}`).join('&');

describe('a lookup of many', () => {
  test('finds profiles by every kind of name, in the order of the request', async () => {
    expect(await answered('uid=8&username=ADA&authid=x%7Ca%2Bb&username=nobody&uid=404&username=lovelace')).toEqual({
      found: [
        [{ uid: 8 }, 8],
        [{ username: 'ADA' }, 7],
        [{ authid: 'x|a+b' }, 8],
        [{ username: 'lovelace' }, 7],
      ],
      missing: [{ username: 'nobody' }, { uid: 404 }],
    });
  });

  test('returns the same profile as a single lookup', async () => {
    const one = await (await get(server, '/api/lookup/uid/9', secret)).text();
    expect(await (await ask('uid=9')).text()).toBe(`{"profiles":[{"query":{"uid":9},"profile":${one}}],"missing":[]}`);
  });

  test('returns each query as it was decoded; a plus is a space', async () => {
    expect(await answered('username=a+b&username=a%2Bb&usern%61me=A%20B&username=%22%E2%98%85')).toEqual({
      found: [
        [{ username: 'a b' }, 8],
        [{ username: 'A B' }, 8],
      ],
      missing: [{ username: 'a+b' }, { username: '"★' }],
    });
  });

  test('answers a parameter with the same decoded value once, at its first position', async () => {
    expect(await answered('username=x&username=Ada&uid=7&username=%41da&uid=%37&username=x&username=ada')).toEqual({
      found: [
        [{ username: 'Ada' }, 7],
        [{ uid: 7 }, 7],
        [{ username: 'ada' }, 7],
      ],
      missing: [{ username: 'x' }],
    });
  });

  test('lists invalid names as missing', async () => {
    const long = 'a'.repeat(300);
    expect(
      (await answered(`username=&username=%00&username=a%2Fb&username=..&authid=&authid=${long}`)).missing,
    ).toEqual([
      { username: '' },
      { username: '\0' },
      { username: 'a/b' },
      { username: '..' },
      { authid: '' },
      { authid: long },
    ]);
    expect((await answered('username&authid')).missing).toEqual([{ username: '' }, { authid: '' }]);
  });

  test('accepts one to a hundred names, counting repeated ones', async () => {
    expect((await answered(nobody(MANY_MAX))).missing.length).toBe(100);
    expect((await answered(Array(MANY_MAX).fill('uid=7').join('&'))).found).toEqual([[{ uid: 7 }, 7]]);
    for (const query of ['', nobody(101), Array(101).fill('uid=7').join('&')]) {
      const sentence = await expectRefusal(await ask(query), 400);
      expect(sentence).toBe('Send username, uid or authid 1 to 100 times in all.');
    }
    await expectRefusal(await get(server, '/api/lookup', secret), 400);
  });
});

describe('a malformed value refuses the whole request, and the sentence names the parameter', () => {
  const refused: [string, string][] = [
    ['username=Ada&uid=0', 'uid must be a whole number from 1 to 9007199254740991.'],
    ['uid=7&username=%zz', 'username must be percent-encoded UTF-8.'],
    ['authid=%C3&uid=7', 'authid must be percent-encoded UTF-8.'],
    ['uid=%', 'uid must be percent-encoded UTF-8.'],
    ['uid=7&limit=1', 'The query parameter limit is unknown: this path accepts only username, uid and authid.'],
    ['uid=7&authId=x', 'The query parameter authId is unknown: this path accepts only username, uid and authid.'],
    ['uid=7&', 'A query parameter is unknown: this path accepts only username, uid and authid.'],
  ];
  for (const [query, sentence] of refused) {
    test(query, async () => expect(await expectRefusal(await ask(query), 400)).toBe(sentence));
  }
});

describe('the cost of a lookup of many', () => {
  const { clock } = server.deps;
  const left = (answer: Response) => answer.headers.get('ratelimit');

  test('is one request for each distinct name, found or not', async () => {
    const { secret: counted } = await keyFor(server.deps, ['20/1m', '100/1h']);
    expect(left(await ask('uid=7', counted))).toBe('"1m";r=19;t=60, "1h";r=99;t=3600');
    expect(left(await ask('uid=7&uid=8&username=x&uid=%37&username=x', counted))).toBe(
      '"1m";r=16;t=60, "1h";r=96;t=3600',
    );
    const unchanged = await get(server, '/api/lookup?uid=7&uid=8', counted, { headers: { 'If-None-Match': '*' } });
    expect([unchanged.status, left(unchanged)]).toEqual([304, '"1m";r=14;t=60, "1h";r=94;t=3600']);
    const head = await get(server, '/api/lookup?uid=7&uid=8', counted, { method: 'HEAD' });
    expect([head.status, left(head)]).toEqual([200, '"1m";r=12;t=60, "1h";r=92;t=3600']);
  });

  test('is one request if the parameters are refused', async () => {
    const { secret: counted } = await keyFor(server.deps, ['20/1m']);
    expect(left(await ask('uid=7&uid=8&uid=0', counted))).toBe('"1m";r=19;t=60');
    expect(left(await ask(nobody(101), counted))).toBe('"1m";r=18;t=60');
  });

  test('that exceeds a quota gets a 400 that names the limit, because waiting would never help', async () => {
    const { secret: counted } = await keyFor(server.deps, ['100/1d', '3/1m', '2/1s']);
    const refused = await ask('uid=1&uid=2&uid=3', counted);
    expect(left(refused)).toBe('"1d";r=99;t=86400, "1m";r=2;t=60, "1s";r=1;t=1');
    expect(await expectRefusal(refused, 400, { 'Retry-After': null })).toBe(
      'This asks for 3 profiles, each of which costs a request, but the rate limit 2/1s of this API key never admits more than 2 at once.',
    );
  });

  test('that exceeds what is left is a 429 with the limits that lack room; it spends nothing, and waiting is enough', async () => {
    const { secret: counted } = await keyFor(server.deps, ['5/10s', '50/1h']);
    expect((await ask(nobody(3), counted)).status).toBe(200);
    clock.advance(4_250);
    const headers = { 'Retry-After': '6', RateLimit: '"10s";r=2;t=5' };
    for (let turn = 0; turn < 3; turn++) {
      expect(await expectRefusal(await ask(nobody(4), counted), 429, headers)).toBe(
        '5 requests per 10 seconds leave no room for 4; try again in 6 s.',
      );
    }
    clock.advance(6_000);
    expect(left(await ask(nobody(4), counted))).toBe('"10s";r=1;t=10, "1h";r=43;t=3589');
  });

  test('is one request if it is refused for another reason, and a 429 if there is no room even for that', async () => {
    const { secret: counted } = await keyFor(server.deps, ['3/1m'], ['api.leaderboard']);
    expect([(await ask('uid=1&uid=2', counted)).status, (await ask('uid=1&uid=2', counted)).status]).toEqual([
      403, 403,
    ]);
    const method = await get(server, '/api/lookup?uid=7', counted, { method: 'POST' });
    expect([method.status, left(method)]).toEqual([405, '"1m";r=0;t=60']);
    const { secret: other } = await keyFor(server.deps, ['1/1m']);
    expect((await ask('uid=0', other)).status).toBe(400);
    for (const query of ['uid=0', 'uid=7', 'uid=1&uid=2', nobody(101)]) {
      const headers = { 'Retry-After': '61', RateLimit: '"1m";r=0;t=60' };
      expect(await expectRefusal(await ask(query, other), 429, headers)).toBe(
        '1 request per minute is used up; try again in 61 s.',
      );
    }
  });

  test('for any limits and lookups: the same request is admitted after Retry-After, and a 429 spends nothing', async () => {
    const limit = fc.record({ quota: fc.integer({ min: 1, max: 12 }), windowSeconds: fc.constantFrom(1, 3, 10, 60) });
    const limits = fc.uniqueArray(limit, {
      minLength: 1,
      maxLength: 4,
      selector: ({ windowSeconds }) => windowSeconds,
    });
    const step = fc.record({ count: fc.integer({ min: 0, max: 12 }), pauseMs: fc.integer({ min: 0, max: 9_000 }) });
    const send = (count: number, counted: string) =>
      count === 0 ? get(server, '/api/lookup/uid/404', counted) : ask(nobody(count), counted);
    const remaining = async (counted: string) => {
      const { rateLimits } = (await (await get(server, '/api/key', counted)).json()) as {
        rateLimits: { remaining: number }[];
      };
      return rateLimits.map((one) => one.remaining);
    };
    let waits = 0;
    await fc.assert(
      fc.asyncProperty(limits, fc.array(step, { minLength: 4, maxLength: 20 }), async (granted, steps) => {
        const texts = granted.map(({ quota, windowSeconds }) => `${quota}/${windowSeconds}s`);
        const { secret: counted } = await keyFor(server.deps, texts);
        for (const { count, pauseMs } of steps) {
          clock.advance(pauseMs);
          const before = await remaining(counted);
          const answer = await send(count, counted);
          await answer.arrayBuffer();
          if (answer.status !== 429) continue;
          expect(await remaining(counted)).toEqual(before);
          waits++;
          clock.advance(Number(answer.headers.get('retry-after')) * 1_000);
          expect([200, 404, 400]).toContain((await send(count, counted)).status);
        }
      }),
      { numRuns: rounds(15) },
    );
    expect(waits).toBeGreaterThan(rounds(13));
  }, 60_000);
});
