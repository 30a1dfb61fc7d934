import { expect, test } from 'bun:test';
import { copyFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { connect, type SecureVersion } from 'node:tls';
import { startServer } from '../../../server/main.ts';
import { startTestServer } from '../../support/http.ts';
import { prepare } from '../../support/keys.ts';
import { TEST_CA, testCertificate } from '../../support/network.ts';
import { tempFolder, testDeps } from '../../support/world.ts';

const folder = tempFolder();
const certFile = join(folder, 'tls.pem');
const keyFile = join(folder, 'tls.key');

function put(name: 'localhost' | 'elsewhere'): void {
  copyFileSync(testCertificate(name).certFile, certFile);
  copyFileSync(testCertificate(name).keyFile, keyFile);
}

put('localhost');
const variables = { TLS_CERT_FILE: certFile, TLS_KEY_FILE: keyFile };
const server = await startTestServer({ variables });
const secret = await prepare(server.deps);

/** The response to a request over TLS, and the subject of the certificate. */
function ask(target: string, lines: readonly string[] = [], maxVersion?: SecureVersion, host = 'localhost') {
  const { promise, resolve, reject } = Promise.withResolvers<{
    text: string;
    subject: string;
    protocol: string | null;
  }>();
  const options = {
    port: server.port,
    host: '127.0.0.1',
    ca: TEST_CA,
    servername: 'localhost',
    checkServerIdentity: () => undefined,
  };
  const socket = connect({ ...options, ...(maxVersion && { maxVersion, minVersion: maxVersion }) }, () => {
    const subject = String(socket.getPeerCertificate().subjectaltname);
    const protocol = socket.getProtocol();
    let text = '';
    socket.on('data', (chunk) => {
      text += chunk.toString('latin1');
    });
    socket.on('close', () => resolve({ text, subject, protocol }));
    socket.write(`GET ${target} HTTP/1.1\r\n${[`Host: ${host}`, ...lines].join('\r\n')}\r\nConnection: close\r\n\r\n`);
  });
  socket.on('error', reject);
  return promise;
}

test('the server speaks TLS itself, and sends HSTS for two years', async () => {
  expect(server.url).toBe(`https://127.0.0.1:${server.port}`);
  const { text, protocol } = await ask('/api/lookup/uid/7', [`Authorization: Bearer ${secret}`]);
  expect(protocol).toBe('TLSv1.3');
  expect(text).toStartWith('HTTP/1.1 200');
  expect(text).toContain('Strict-Transport-Security: max-age=63072000');
  expect(text).toContain('"username":"Ada"');
  expect(server.log.at(-1)).toMatchObject({ route: '/api/lookup/uid/:uid', address: '127.0.0.1' });
  for (const [target, status] of [
    ['/healthz', 200],
    ['/api/key', 401],
    ['/x/healthz', 404],
    ['/https://a/healthz', 404],
  ] as const) {
    const answer = await ask(target);
    expect(answer.text).toStartWith(`HTTP/1.1 ${status}`);
    expect(answer.text).toContain('Strict-Transport-Security: max-age=63072000');
  }
});

test('a Host of one or two characters, with which the path would not be found, is refused', async () => {
  for (const host of ['a', 'ab']) {
    const { text } = await ask('/api/lookup/uid/7', [`Authorization: Bearer ${secret}`], undefined, host);
    expect(text).toStartWith('HTTP/1.1 400');
    expect(text).toContain('X-Error-Code: bad_request');
  }
  expect((await ask('/healthz', [], undefined, 'abc')).text).toStartWith('HTTP/1.1 200');
});

test('TLS 1.2 is the oldest accepted version', async () => {
  expect((await ask('/healthz', [], 'TLSv1.2')).protocol).toBe('TLSv1.2');
  for (const version of ['TLSv1.1', 'TLSv1'] as const) await expect(ask('/healthz', [], version)).rejects.toThrow();
});

test('an unusable certificate prevents the start, and the error names both variables', async () => {
  const bad = join(folder, 'bad.pem');
  writeFileSync(bad, '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n');
  for (const [cert, key] of [
    [bad, keyFile],
    [certFile, bad],
    [certFile, testCertificate('elsewhere').keyFile],
  ] as const) {
    const deps = testDeps({ variables: { TLS_CERT_FILE: cert, TLS_KEY_FILE: key } });
    const error = await startServer(deps, { port: 0 }).catch((error) => error);
    expect([error.code, error.message]).toEqual(['bad_config', expect.stringMatching(/TLS_CERT_FILE.*TLS_KEY_FILE/)]);
  }
});

test('no other server can use the port', async () => {
  const deps = testDeps({ variables });
  const error = await startServer(deps, { port: server.port }).catch((error) => error);
  expect([error.code, error.message]).toEqual(['refused', expect.stringContaining('in use')]);
});
