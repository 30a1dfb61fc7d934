import { describe, expect, test } from 'bun:test';
import { get, startTestServer } from '../../support/http.ts';
import { prepare } from '../../support/keys.ts';
import { expectRefusal } from '../refusals.ts';

const server = await startTestServer({ variables: { TRUSTED_PROXIES: '127.0.0.1' } });
const secret = await prepare(server.deps);
const { clock } = server.deps;

/** Sends a request that the trusted proxy says came from this IP address. */
const from = (address: string, authorization?: string, path = '/api/key') => {
  const headers: Record<string, string> = { 'X-Forwarded-For': address, 'X-Forwarded-Proto': 'https' };
  if (authorization !== undefined) headers.Authorization = authorization;
  return get(server, path, null, { headers });
};

describe('guessing keys from one IP address', () => {
  test('thirty requests get a 401, further ones a 429, and the stated wait is enough', async () => {
    for (let turn = 0; turn < 30; turn++) {
      expect((await from('192.0.2.1', turn % 2 === 0 ? undefined : 'Bearer guess')).status).toBe(401);
      clock.advance(1_000);
    }
    const headers = { 'Retry-After': '31', RateLimit: null, 'WWW-Authenticate': null };
    const about = 'More than 30 requests without a valid API key or token came from this IP address within 60 seconds';
    expect(await expectRefusal(await from('192.0.2.1'), 429, headers)).toBe(`${about}; try again in 31 s.`);
    for (let turn = 0; turn < 40; turn++) await expectRefusal(await from('192.0.2.1', 'Bearer guess'), 429, headers);
    clock.advance(30_000);
    expect(await expectRefusal(await from('192.0.2.1'), 429, { 'Retry-After': '1' })).toEndWith('try again in 1 s.');
    clock.advance(1_000);
    // The first of the thirty is now older than a minute, and the requests refused with 429 never counted.
    expect((await from('192.0.2.1')).status).toBe(401);
  });

  test('a valid key is never refused for its IP address', async () => {
    for (let turn = 0; turn < 35; turn++) await from('192.0.2.2');
    expect((await from('192.0.2.2')).status).toBe(429);
    expect((await from('192.0.2.2', `Bearer ${secret}`)).status).toBe(200);
    expect((await from('192.0.2.2')).status).toBe(429);
  });

  test('requests outside the API do not count', async () => {
    for (let turn = 0; turn < 40; turn++) expect((await from('192.0.2.4', 'Bearer x', '/healthz')).status).toBe(200);
    expect((await from('192.0.2.4')).status).toBe(401);
  });
});
