import { describe, expect, test } from 'bun:test';
import { startServer } from '../../../server/main.ts';
import { get, startTestServer } from '../../support/http.ts';
import { expectRefusal, prepare } from '../../support/requests.ts';
import { testDeps } from '../../support/world.ts';

const PUBLIC_URL = 'https://api.example.org';
const refusedPlainHttp = async (answer: Response) => {
  expect(await expectRefusal(answer, 403, { 'WWW-Authenticate': null })).toBe('This API is served over HTTPS only.');
};

describe('starting', () => {
  for (const HOST of ['0.0.0.0', '::', '192.0.2.1']) {
    test(`HOST ${HOST} without TLS or a proxy is refused, and the error lists the solutions`, async () => {
      const deps = testDeps({ variables: { HOST, PUBLIC_URL } });
      const error = await startServer(deps, { port: 0 }).catch((error) => error);
      expect(error.code).toBe('bad_config');
      for (const way of ['TLS_CERT_FILE', 'TLS_KEY_FILE', 'TRUSTED_PROXIES', 'HOST=127.0.0.1']) {
        expect(error.message).toContain(way);
      }
    });
  }
});

const open = { HOST: '0.0.0.0', PUBLIC_URL };
const proxied = await startTestServer({ variables: { ...open, TRUSTED_PROXIES: '127.0.0.1' } });
const direct = await startTestServer({ variables: { ...open, TRUSTED_PROXIES: '10.0.0.0/8' } });
const alone = await startTestServer();
const behind = await startTestServer({ variables: { TRUSTED_PROXIES: '127.0.0.1' } });
const secret = await prepare(proxied.deps);

describe('open to other machines, behind a trusted proxy', () => {
  const url = proxied.url.replace('0.0.0.0', '127.0.0.1');
  const ask = (path: string, headers: Record<string, string>) => get({ url }, path, secret, { headers });

  for (const [name, headers] of Object.entries({
    'forwarded from HTTPS': { 'X-Forwarded-For': '192.0.2.1', 'X-Forwarded-Proto': 'https' },
    'forwarded from HTTPS by several proxies': {
      'X-Forwarded-For': '192.0.2.1, 127.0.0.1',
      'X-Forwarded-Proto': 'https, HTTPS',
    },
    'a request of the proxy itself': {},
  })) {
    test(`${name}: served`, async () => {
      for (const path of ['/healthz', '/api/key']) expect((await ask(path, headers)).status).toBe(200);
    });
  }

  for (const [name, headers] of Object.entries({
    'forwarded from HTTP': { 'X-Forwarded-For': '192.0.2.1', 'X-Forwarded-Proto': 'http' },
    'forwarded by HTTP between two proxies': { 'X-Forwarded-For': '192.0.2.1', 'X-Forwarded-Proto': 'https, http' },
    'the client claims HTTPS, the proxy knows better': { 'X-Forwarded-Proto': 'https,http' },
    'forwarded without a scheme': { 'X-Forwarded-For': '192.0.2.1' },
    'with an unknown scheme': { 'X-Forwarded-Proto': 'spdy' },
    'with an empty scheme': { 'X-Forwarded-Proto': '' },
  })) {
    test(`${name}: 403 before the key is checked, on every path`, async () => {
      for (const path of ['/healthz', '/api/key', '/nothing']) {
        await refusedPlainHttp(await ask(path, headers));
        await refusedPlainHttp(await get({ url }, path, null, { headers }));
      }
    });
  }
});

describe('open to other machines, without a trusted proxy', () => {
  const url = direct.url.replace('0.0.0.0', '127.0.0.1');

  test('403, whatever the headers say', async () => {
    for (const headers of [{}, { 'X-Forwarded-Proto': 'https', 'X-Forwarded-For': '10.0.0.1' }] as Record<
      string,
      string
    >[]) {
      for (const path of ['/healthz', '/api/key'])
        await refusedPlainHttp(await get({ url }, path, secret, { headers }));
    }
  });
});

describe('on loopback', () => {
  test('the scheme does not matter, unless a trusted proxy sends it', async () => {
    const http = { 'X-Forwarded-Proto': 'http', 'X-Forwarded-For': '192.0.2.1' };
    expect((await get(alone, '/healthz', null, { headers: http })).status).toBe(200);
    await refusedPlainHttp(await get(behind, '/healthz', null, { headers: http }));
    expect((await get(behind, '/healthz')).status).toBe(200);
    expect((await get(behind, '/healthz', null, { headers: { 'X-Forwarded-For': '192.0.2.1' } })).status).toBe(200);
    expect(behind.log.at(-1)).toMatchObject({ address: '192.0.2.1' });
    expect(alone.log.at(-1)).toMatchObject({ address: '127.0.0.1' });
  });
});
