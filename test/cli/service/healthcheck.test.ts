import { afterAll, expect, test } from 'bun:test';
import { startTestServer } from '../../support/http.ts';
import { testCertificate } from '../../support/network.ts';
import { runCommand } from '../commands.ts';

/** Runs the check with the server's variables and actual port. */
function check(port: number, variables: Record<string, string> = {}, words: string[] = []) {
  return runCommand(['healthcheck', ...words], { variables: { ...variables, PORT: String(port) } });
}

test('the exit code is 0 if the server is ready, and 1 if there is no server', async () => {
  const server = await startTestServer();
  expect(await check(server.port)).toEqual({ code: 0, stdout: `The server at ${server.url} is ready.\n`, stderr: '' });
  expect(await check(server.port, {}, ['--json'])).toEqual({ code: 0, stdout: '{"status":"ok"}\n', stderr: '' });
  await server.stop();
  expect(await check(server.port)).toEqual({
    code: 1,
    stdout: '',
    stderr: `No server is responding at ${server.url}.\n`,
  });
  const { stderr } = await check(server.port, {}, ['--json']);
  expect(JSON.parse(stderr)).toEqual({ error: `No server is responding at ${server.url}.` });
});

test('a server with TLS is ready, whatever host its certificate is for', async () => {
  const { certFile, keyFile } = testCertificate('elsewhere');
  const tls = { TLS_CERT_FILE: certFile, TLS_KEY_FILE: keyFile, PUBLIC_URL: 'https://mail.example.org' };
  const server = await startTestServer({ variables: { ...tls, HOST: '0.0.0.0' } });
  expect(await check(server.port, { ...tls, HOST: '0.0.0.0' })).toMatchObject({ code: 0, stderr: '' });
});

test('a server behind a proxy is ready if TRUSTED_PROXIES includes 127.0.0.1; otherwise the error says to add it', async () => {
  const open = { HOST: '0.0.0.0', PUBLIC_URL: 'https://api.example.org' };
  const trusting = { ...open, TRUSTED_PROXIES: '127.0.0.1,172.16.0.0/12' };
  expect(await check((await startTestServer({ variables: trusting })).port, trusting)).toMatchObject({
    code: 0,
  });
  const strict = { ...open, TRUSTED_PROXIES: '172.16.0.0/12' };
  expect(await check((await startTestServer({ variables: strict })).port, strict)).toEqual({
    code: 1,
    stdout: '',
    stderr: expect.stringContaining('add 127.0.0.1 to TRUSTED_PROXIES'),
  });
});

test('a server that responds with 503 is not ready, and a proxy in the environment is ignored', async () => {
  const paths: string[] = [];
  const busy = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    fetch: ({ url }) => {
      paths.push(new URL(url).pathname);
      return new Response('', { status: 503 });
    },
  });
  afterAll(() => busy.stop(true));
  const elsewhere = `http://127.0.0.1:${busy.port}`;
  const notReady = await check(busy.port ?? 0);
  expect(notReady).toMatchObject({
    code: 1,
    stderr: `The server at ${elsewhere} is not ready: it responds with 503.\n`,
  });
  const server = await startTestServer();
  expect(await check(server.port, { HTTP_PROXY: elsewhere, http_proxy: elsewhere })).toMatchObject({ code: 0 });
  expect(paths).toEqual(['/readyz']);
});

test('PORT=0 is refused (exit code 2)', async () => {
  expect(await check(0)).toMatchObject({ code: 2, stderr: expect.stringContaining('PORT') });
});
