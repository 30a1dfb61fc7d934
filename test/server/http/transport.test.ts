import { describe, expect, test } from 'bun:test';
import { connect } from 'node:net';
import { readTransport, refusePlainHttp } from '../../../server/http/transport.ts';
import { startServer } from '../../../server/main.ts';
import { readConfig } from '../../../shared/config/config.ts';
import { faultOf } from '../../../shared/errors.ts';
import { get, startTestServer } from '../../support/http.ts';
import { prepare } from '../../support/keys.ts';
import { eventually, testDeps } from '../../support/world.ts';
import { expectRefusal } from '../refusals.ts';

const PUBLIC_URL = 'https://api.example.org';

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
const from = '192.0.2.1';

/** The configurations, and what a request from 127.0.0.1 with these headers gets. */
const REQUESTS: [
  name: string,
  configuration: Record<string, string>,
  requests: [headers: Record<string, string>, isServed: boolean][],
][] = [
  [
    'open to other machines, behind a trusted proxy',
    { ...open, TRUSTED_PROXIES: '127.0.0.1' },
    [
      [{ 'X-Forwarded-For': from, 'X-Forwarded-Proto': 'https' }, true],
      [{ 'X-Forwarded-For': `${from}, 127.0.0.1`, 'X-Forwarded-Proto': 'https, HTTPS' }, true],
      // A request of the proxy itself.
      [{}, true],
      [{ 'X-Forwarded-For': from, 'X-Forwarded-Proto': 'http' }, false],
      // By HTTP between two proxies, or claimed by the client.
      [{ 'X-Forwarded-For': from, 'X-Forwarded-Proto': 'https, http' }, false],
      [{ 'X-Forwarded-For': from, 'X-Forwarded-Proto': 'http, https' }, false],
      [{ 'X-Forwarded-Proto': 'https,http' }, false],
      [{ 'X-Forwarded-For': from }, false],
      [{ 'X-Forwarded-Proto': 'spdy' }, false],
      [{ 'X-Forwarded-Proto': '' }, false],
    ],
  ],
  [
    'open to other machines, without a trusted proxy',
    { ...open, TRUSTED_PROXIES: '10.0.0.0/8' },
    [
      [{}, false],
      [{ 'X-Forwarded-Proto': 'https', 'X-Forwarded-For': '10.0.0.1' }, false],
    ],
  ],
  // The scheme matters only if a trusted proxy sends it.
  ['on loopback', {}, [[{ 'X-Forwarded-Proto': 'http', 'X-Forwarded-For': from }, true]]],
  [
    'on loopback, behind a trusted proxy',
    { TRUSTED_PROXIES: '127.0.0.1' },
    [
      [{ 'X-Forwarded-Proto': 'http', 'X-Forwarded-For': from }, false],
      [{}, true],
      [{ 'X-Forwarded-For': from }, true],
    ],
  ],
];

test.each(REQUESTS)('%s: the scheme counts as trusted proxies state it', (_name, variables, requests) => {
  const transport = readTransport(readConfig(variables));
  const isServed = (headers: Record<string, string>) =>
    faultOf(() => refusePlainHttp(transport, '127.0.0.1', new Headers(headers))) === null;
  expect(requests.map(([headers]) => [headers, isServed(headers)])).toEqual(requests);
});

test('a request by plain HTTP gets a 403 before its key is checked, on every path', async () => {
  const server = await startTestServer({ variables: { ...open, TRUSTED_PROXIES: '127.0.0.1' } });
  const at = { url: server.url.replace('0.0.0.0', '127.0.0.1') };
  const secret = await prepare(server.deps);
  const forwarded = (scheme: string) => ({ 'X-Forwarded-For': from, 'X-Forwarded-Proto': scheme });
  for (const path of ['/healthz', '/api/key', '/nothing']) {
    for (const key of [secret, null]) {
      const answer = await get(at, path, key, { headers: forwarded('http') });
      const sentence = await expectRefusal(answer, 403, { 'WWW-Authenticate': null });
      expect(sentence).toBe('This API is served over HTTPS only.');
    }
  }
  for (const path of ['/healthz', '/api/key']) {
    expect((await get(at, path, secret, { headers: forwarded('https') })).status).toBe(200);
    expect(server.log.at(-1)).toMatchObject({ address: from });
  }
  for (let times = 0; times < 3; times++) {
    await get(at, '/healthz', null, { headers: { 'X-Forwarded-For': 'x', 'X-Forwarded-Proto': 'https' } });
  }
  expect(server.log.filter(({ message }) => String(message).includes('X-Forwarded-For'))).toHaveLength(1);
});

test('a request on a connection that was reset, whose address no limit would know, has no effect', async () => {
  const server = await startTestServer();
  const secret = await prepare(server.deps);
  const form = 'name=ada&address=ada%40example.org&next=';
  const type = 'Content-Type: application/x-www-form-urlencoded';
  for (const lines of [
    ['GET /api/key HTTP/1.1', 'Host: test', `Authorization: Bearer ${secret}`, '', ''],
    [
      'POST /developers/sign-in HTTP/1.1',
      'Host: test',
      'Sec-Fetch-Site: same-origin',
      type,
      'Content-Length: 40',
      '',
      form,
    ],
  ]) {
    server.log.length = 0;
    const socket = connect(server.port, '127.0.0.1', () => {
      socket.write(lines.join('\r\n'));
      socket.resetAndDestroy();
    });
    const logged = await eventually(() => server.log.find(({ address }) => address === ''));
    expect(logged).toMatchObject({ key: null, status: 400 });
  }
});

test('whoever types the address of a page without https:// gets there, but a form is refused', async () => {
  const variables = { ...open, TRUSTED_PROXIES: '127.0.0.1', PUBLIC_URL: 'https://api.example.org/lookup' };
  const server = await startTestServer({ variables });
  const url = `${server.url.replace('0.0.0.0', '127.0.0.1')}/developers/keys`;
  const headers = { 'X-Forwarded-For': from, 'X-Forwarded-Proto': 'http' };
  const answer = await fetch(url, { headers, redirect: 'manual' });
  expect([answer.status, answer.headers.get('location')]).toEqual([307, `${variables.PUBLIC_URL}/developers/keys`]);
  const form = await fetch(url, { method: 'POST', headers, redirect: 'manual' });
  expect([form.status, form.headers.get('content-type')]).toEqual([403, 'text/html; charset=utf-8']);
});
