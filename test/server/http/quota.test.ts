import { describe, expect, test } from 'bun:test';
import { get, startTestServer } from '../../support/http.ts';
import { keyFor, prepare } from '../../support/keys.ts';

const server = await startTestServer();
await prepare(server.deps);
const { clock } = server.deps;

const ask = (secret: string, path = '/api/lookup/uid/7', init?: RequestInit) => get(server, path, secret, init);

describe('the RateLimit headers', () => {
  test('have the levels after each request', async () => {
    const { secret } = await keyFor(server.deps, ['3/90s', '5000/1d']);
    const first = await ask(secret);
    expect(first.headers.get('ratelimit-policy')).toBe('"90s";q=3;w=90, "1d";q=5000;w=86400');
    expect(first.headers.get('ratelimit')).toBe('"90s";r=2;t=90, "1d";r=4999;t=86400');
    clock.advance(10_500);
    // Setting the wall clock changes nothing.
    clock.jump(-3_600_000);
    expect((await ask(secret)).headers.get('ratelimit')).toBe('"90s";r=1;t=79, "1d";r=4998;t=86400');
    clock.advance(80_000);
    // The first request has left its window, but its group has not.
    expect((await ask(secret)).headers.get('ratelimit')).toBe('"90s";r=1;t=10, "1d";r=4997;t=86400');
  });

  test('are not changed by /api/key, and show the full length of an unused window', async () => {
    const { secret } = await keyFor(server.deps, ['2/1m']);
    for (let turn = 0; turn < 5; turn++) {
      const answer = await ask(secret, '/api/key');
      expect(answer.headers.get('ratelimit')).toBe('"1m";r=2;t=60');
      expect((await ask(secret, '/api/key', { method: 'POST' })).headers.get('ratelimit')).toBe('"1m";r=2;t=60');
      expect((await ask(secret, '/api/key?x')).status).toBe(400);
    }
    await ask(secret);
    await ask(secret);
    expect((await ask(secret)).status).toBe(429);
    const used = await ask(secret, '/api/key');
    expect([used.status, used.headers.get('ratelimit')]).toEqual([200, '"1m";r=0;t=60']);
    expect(await used.json()).toMatchObject({ rateLimits: [{ remaining: 0, resetSeconds: 60 }] });
  });

  test('count every admitted request, whatever its outcome', async () => {
    const { secret } = await keyFor(server.deps, ['9/1m'], ['api.lookup']);
    const paths = [
      '/api/lookup/uid/7',
      '/api/lookup/uid/0',
      '/api/lookup/uid/404',
      '/api/leaderboard',
      '/api/nothing',
      '/api/lookup/uid/7?x=1',
    ];
    for (const [index, path] of paths.entries()) {
      expect((await ask(secret, path)).headers.get('ratelimit')).toBe(`"1m";r=${8 - index};t=60`);
    }
    const unchanged = await ask(secret, '/api/lookup/uid/7', { headers: { 'If-None-Match': '*' } });
    expect([unchanged.status, unchanged.headers.get('ratelimit')]).toEqual([304, '"1m";r=2;t=60']);
    const method = await ask(secret, '/api/lookup/uid/7', { method: 'POST' });
    expect([method.status, method.headers.get('ratelimit')]).toEqual([405, '"1m";r=1;t=60']);
    const head = await ask(secret, '/api/lookup/uid/7', { method: 'HEAD' });
    expect([head.status, head.headers.get('ratelimit')]).toEqual([200, '"1m";r=0;t=60']);
  });
});

test('over a limit, only the exhausted limits are listed, with the longest wait, and the body names them', async () => {
  const { secret } = await keyFor(server.deps, ['2/10s', '2/1m', '100/1h']);
  await ask(secret);
  clock.advance(2_250);
  await ask(secret);
  const refused = await ask(secret);
  expect(refused.status).toBe(429);
  expect(refused.headers.get('ratelimit')).toBe('"10s";r=0;t=7, "1m";r=0;t=57');
  expect(refused.headers.get('retry-after')).toBe('58');
  expect(await refused.json()).toEqual({
    error: '2 requests per 10 seconds and 2 requests per minute are used up; try again in 58 s.',
  });
});
