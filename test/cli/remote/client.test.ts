import { afterAll, describe, expect, test } from 'bun:test';
import { createServer, type Socket } from 'node:net';
import { z } from 'zod';
import { askHost, askPages, type HostRequest } from '../../../cli/remote/client.ts';
import { type AppError, exitCodeOf } from '../../../shared/errors.ts';
import { cleanEnvironment, PROJECT } from '../../support/cli.ts';
import { TEST_CA_FILE, testCertificate } from '../../support/network/certificates.ts';
import { refusal } from '../../support/refusal.ts';

// Requests to servers, and errors for servers that misbehave.

const TOKEN = 'plt_not-a-token';

/** A server that calls `act` for each connection once bytes have arrived. */
async function rawServer(act: (socket: Socket, bytes: string) => void): Promise<string> {
  const server = createServer((socket) => {
    socket.on('error', () => undefined);
    socket.once('data', (bytes) => act(socket, bytes.toString('latin1')));
  });
  const { promise, resolve } = Promise.withResolvers<void>();
  server.listen(0, '127.0.0.1', resolve);
  await promise;
  afterAll(() => server.close());
  return `http://127.0.0.1:${(server.address() as { port: number }).port}`;
}

/** A server that answers every request with `answer`. */
function serverOf(answer: (request: Request) => Response | Promise<Response>, tls?: { cert: string; key: string }) {
  const server = Bun.serve({ hostname: '127.0.0.1', port: 0, fetch: answer, ...(tls && { tls }) });
  afterAll(() => server.stop(true));
  return `${tls ? 'https' : 'http'}://localhost:${server.port}`;
}

const json = (body: unknown, init: ResponseInit = {}) => Response.json(body, init);

/** Any JSON object. */
const ANY = z.looseObject({});

const ask = (url: string, more: Partial<HostRequest<Record<string, unknown>>> = {}) =>
  askHost({ url, token: TOKEN }, { method: 'GET', path: '/me', answer: ANY, ...more });

const codeAndSentence = ({ code, message }: AppError) => [exitCodeOf(code), message];

test('a request has its token, its parameters, and its body in the right format', async () => {
  const url = serverOf(async (request) =>
    json({
      url: request.url.replace(/^.*:\d+/, ''),
      method: request.method,
      token: request.headers.get('authorization'),
      type: request.headers.get('content-type'),
      length: request.headers.get('content-length'),
      body: await request.text(),
    }),
  );
  const query = { state: ['pending', 'Active'], profile: 'Ada & Bob', after: undefined };
  expect((await ask(`${url}/prefix`, { path: '/keys', query })).body).toMatchObject({
    url: '/prefix/manage/v1/keys?state=pending&state=Active&profile=Ada+%26+Bob',
    method: 'GET',
    token: `Bearer ${TOKEN}`,
    body: '',
  });
  expect((await ask(url, { method: 'PATCH', json: { name: 'é' } })).body).toMatchObject({
    method: 'PATCH',
    type: 'application/json',
    body: '{"name":"é"}',
  });
  expect((await ask(url, { method: 'POST', lines: Buffer.from('{}\n{}\n') })).body).toMatchObject({
    type: 'application/jsonl',
    length: '6',
    body: '{}\n{}\n',
  });
  const form = await askHost(
    { url, token: null },
    { method: 'POST', path: '/token', form: { code: 'a b' }, answer: ANY },
  );
  expect(form.body).toMatchObject({ token: null, type: 'application/x-www-form-urlencoded', body: 'code=a+b' });
});

test('an empty response is an empty object', async () => {
  expect((await ask(serverOf(() => new Response(null, { status: 200 })))).body).toEqual({});
});

describe('a server that sends no complete HTTP response', () => {
  test('makes a command suggest trying again (exit code 75)', async () => {
    const gone = await rawServer((socket) => socket.destroy());
    expect(codeAndSentence(await refusal(ask(gone)))).toEqual([
      75,
      `The connection to ${gone} was closed before the response arrived; try again.`,
    ]);
    const half = await rawServer((socket) => socket.end('HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{"a'));
    expect(codeAndSentence(await refusal(ask(half, { method: 'POST', json: {} })))).toEqual([
      75,
      `The connection to ${half} was closed before the response arrived; try again. The request may have been carried out; check before you try again.`,
    ]);
    const silent = await rawServer(() => {});
    expect(codeAndSentence(await refusal(ask(silent, { patienceMs: 100 })))).toEqual([
      75,
      `${silent} did not answer within 0.1 s; try again later.`,
    ]);
    const slow = await rawServer((socket) => socket.write('HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{"a'));
    expect((await refusal(ask(slow, { patienceMs: 100 }))).message).toContain('did not answer within 0.1 s');
    expect(codeAndSentence(await refusal(ask('http://127.0.0.1:1')))).toEqual([
      75,
      'No server is responding at http://127.0.0.1:1 (ECONNREFUSED); check the URL, and try again later.',
    ]);
    expect(codeAndSentence(await refusal(ask('https://nowhere.invalid')))).toEqual([
      75,
      "The host name nowhere.invalid can't be resolved; check the name and the network.",
    ]);
  });

  test('is reported as a wrong URL if it does not speak HTTP or HTTPS (exit code 1)', async () => {
    const ssh = await rawServer((socket) => socket.end('SSH-2.0-OpenSSH_9.2\r\n'));
    expect(codeAndSentence(await refusal(ask(ssh)))).toEqual([
      1,
      `The server at ${ssh} does not speak HTTP; check the URL.`,
    ]);
    const clear = ssh.replace('http:', 'https:');
    expect(codeAndSentence(await refusal(ask(clear)))).toEqual([
      1,
      `The server at ${clear} does not speak HTTPS; nothing was sent. Check the URL.`,
    ]);
  });
});

test('an untrusted certificate is refused before anything is sent', async () => {
  let asked = 0;
  const url = serverOf(() => {
    asked++;
    return json({});
  }, testCertificate());
  const [code, sentence] = codeAndSentence(await refusal(ask(url)));
  expect([code, asked]).toEqual([1, 0]);
  expect(sentence).toContain(`The certificate of ${url} can't be trusted (UNABLE_TO_VERIFY_LEAF_SIGNATURE);`);
});

test('nothing is sent unencrypted to another machine', async () => {
  expect(codeAndSentence(await refusal(ask('http://192.0.2.1')))).toEqual([
    1,
    'http://192.0.2.1 is not HTTPS; nothing was sent, because others could read it.',
  ]);
});

test('NODE_EXTRA_CA_CERTS, HTTPS_PROXY and NO_PROXY are used; NODE_TLS_REJECT_UNAUTHORIZED and HTTP_PROXY are not', async () => {
  const seen: string[] = [];
  const proxy = await rawServer((socket, bytes) => {
    seen.push(bytes.split('\r\n', 1)[0] as string);
    socket.end('HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n');
  });
  const secure = serverOf(() => json({ said: 'secure' }), testCertificate());
  const elsewhere = serverOf(() => json({ said: 'elsewhere' }), testCertificate('elsewhere'));
  const clear = serverOf(() => json({ said: 'clear' }));
  const script = `
    import { z } from 'zod';
    import { askHost } from './cli/remote/client.ts';
    for (const url of ${JSON.stringify([secure, elsewhere, clear, 'https://api.example.org'])}) {
      const asked = askHost({ url, token: '${TOKEN}' }, { method: 'GET', path: '/me', answer: z.looseObject({}) });
      console.log(await asked.then(({ body }) => body.said, ({ code, message }) => code + ' ' + message));
    }`;
  const child = Bun.spawn([process.execPath, '--no-env-file', '-e', script], {
    cwd: PROJECT,
    env: cleanEnvironment({
      NODE_EXTRA_CA_CERTS: TEST_CA_FILE,
      NODE_TLS_REJECT_UNAUTHORIZED: '0',
      HTTP_PROXY: proxy,
      HTTPS_PROXY: proxy,
      NO_PROXY: `localhost:1,${new URL(secure).host},${new URL(elsewhere).host}`,
    }),
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  const [first, second, third, fourth] = (await new Response(child.stdout).text()).split('\n');
  expect(first).toBe('secure');
  expect(second).toStartWith(`refused The certificate of ${elsewhere} can't be trusted`);
  expect(third).toBe('clear');
  expect(fourth).toBe(
    "try_later The proxy in HTTPS_PROXY can't connect to https://api.example.org; check it, or list the host in NO_PROXY.",
  );
  expect(seen).toEqual(['CONNECT api.example.org:443 HTTP/1.1']);
});

describe('an unsuccessful response', () => {
  /** The exit code, the message and any Retry-After of the error for a response. */
  async function errorFor(answer: () => Response, token: string | null = TOKEN) {
    const url = serverOf(answer);
    const error = await refusal(askHost({ url, token }, { method: 'GET', path: '/me', answer: ANY }));
    const { retryAfterSeconds } = error.details;
    const facts = [exitCodeOf(error.code), error.message.replaceAll(url, 'URL')];
    return retryAfterSeconds === undefined ? facts : [...facts, retryAfterSeconds];
  }
  const refused = (status: number, code: string, error: string) => () =>
    json({ error }, { status, headers: { 'X-Error-Code': code } });

  test('throws an error with the server’s error code and message', async () => {
    expect(await errorFor(refused(404, 'not_found', 'There is no key k7Qm2XaB.'))).toEqual([
      1,
      'There is no key k7Qm2XaB.',
    ]);
    expect(await errorFor(refused(403, 'forbidden', 'No.'))).toEqual([1, 'No.']);
    expect(await errorFor(refused(409, 'changed_since', 'It has changed.'))).toEqual([1, 'It has changed.']);
    expect(await errorFor(refused(422, 'a_code_of_the_future', 'Something new.'))).toEqual([1, 'Something new.']);
    expect(await errorFor(refused(429, 'too_many_requests', 'Tomorrow.'))).toEqual([75, 'Tomorrow.']);
    expect(await errorFor(refused(500, 'internal', 'It failed.'))).toEqual([1, 'It failed.']);
    const oauth = json({ error: 'invalid_grant', error_description: 'The code has expired.' }, { status: 400 });
    expect(await errorFor(() => oauth, null)).toEqual([1, 'The code has expired.']);
  });

  test('to a request with an invalid token says how to log in (exit code 4)', async () => {
    const sentence = 'URL does not accept the token; run "profilectl login URL".';
    expect(await errorFor(refused(401, 'invalid_token', 'This token is not valid.'))).toEqual([4, sentence]);
  });

  test('with a status such as 429 or 503 suggests trying again, after Retry-After if given (exit code 75)', async () => {
    for (const status of [502, 503, 504]) {
      const page = () => new Response('<h1>Oh</h1>', { status, headers: { 'Content-Type': 'text/html' } });
      expect(await errorFor(page)).toEqual([75, `URL can't answer at the moment (status ${status}); try again later.`]);
    }
    const limited = json({ error: 'Slow down.' }, { status: 429, headers: { 'Retry-After': '7' } });
    expect(await errorFor(() => limited)).toEqual([75, 'Slow down.', 7]);
    const wild = (pause: string) => () => json({ error: 'Later.' }, { status: 503, headers: { 'Retry-After': pause } });
    expect(await errorFor(wild('999999999'))).toEqual([75, 'Later.', 3600]);
    expect(await errorFor(wild('Wed, 21 Oct 2026 07:28:00 GMT'))).toEqual([75, 'Later.']);
  });

  test('that is not from Profile Lookup is reported as a wrong URL', async () => {
    const stranger = (status: number) =>
      `The response from URL (status ${status}) is not from Profile Lookup; check the URL.`;
    const page = (status: number) => () =>
      new Response('<h1>Welcome</h1>', { status, headers: { 'Content-Type': 'text/html' } });
    expect(await errorFor(page(200))).toEqual([1, stranger(200)]);
    expect(await errorFor(page(404))).toEqual([1, stranger(404)]);
    expect(await errorFor(() => json([1]))).toEqual([1, stranger(200)]);
    expect(await errorFor(() => new Response('{"a":'))).toEqual([1, stranger(200)]);
    expect(await errorFor(refused(404, 'unknown_path', 'There is nothing at this path.'))).toEqual([
      1,
      'URL does not support this request: its Developer Platform is switched off, or its version is older than this one.',
    ]);
  });

  test('that redirects is reported, but not followed', async () => {
    let asked = 0;
    const other = serverOf(() => {
      asked++;
      return json({});
    });
    const sentence = `URL redirects to another URL, ${other}; use that one.`;
    expect(await errorFor(() => Response.redirect(`${other}/manage/v1/me`, 307))).toEqual([1, sentence]);
    expect(asked).toBe(0);
  });

  test('has its message truncated, without control characters', async () => {
    expect(await errorFor(refused(403, 'forbidden', 'No\u001b[2J\u202e way\r\nout.'))).toEqual([1, 'No[2J way out.']);
    const [, long] = await errorFor(refused(403, 'forbidden', 'x'.repeat(100_000)));
    expect((long as string).length).toBe(2_000);
  });

  test('is returned instead of thrown if the caller expects its error code', async () => {
    const url = serverOf(refused(403, 'decision_needed', 'Open this.'));
    const answer = await ask(url, { returned: ['decision_needed'] });
    expect(answer.body).toEqual({ error: 'Open this.' });
  });
});

test('an endless response is refused', async () => {
  const chunk = new Uint8Array(2 ** 20).fill(0x20);
  let sent = 0;
  const endless = serverOf(
    () =>
      new Response(
        new ReadableStream({
          pull(controller) {
            sent++;
            controller.enqueue(chunk);
          },
        }),
      ),
  );
  const [code, sentence] = codeAndSentence(await refusal(ask(endless)));
  expect([code, sentence]).toEqual([
    1,
    `The response from ${endless} (status 200) is not from Profile Lookup; check the URL.`,
  ]);
  expect(sent).toBeLessThan(200);
});

describe('a response that does not match the schema', () => {
  const answer = z.object({ name: z.string(), count: z.int().min(0), more: z.object({ at: z.string() }).optional() });

  test('is refused (exit code 1)', async () => {
    for (const body of [
      {},
      { name: 'a' },
      { name: 7, count: 1 },
      { name: 'a', count: -1 },
      { name: 'a', count: '1' },
    ]) {
      const url = serverOf(() => json(body));
      expect(codeAndSentence(await refusal(ask(url, { answer })))).toEqual([
        1,
        `The response from ${url} (status 200) is not from Profile Lookup; check the URL.`,
      ]);
    }
  });

  test('only because it has unknown fields, which a later version may have added, is returned without them', async () => {
    const url = serverOf(() => json({ name: 'a', count: 1, later: true, more: { at: 'b', later: [1] } }));
    expect((await ask(url, { answer })).body).toEqual({ name: 'a', count: 1, more: { at: 'b' } });
  });
});

describe('a list', () => {
  const answer = z.object({ page: z.int(), filler: z.string().optional() });

  /** A server with a list of these pages, and a function that reads them; `hasNext` is whether another page follows. */
  async function readPages(pageAt: (index: number) => object, hasNext: (index: number) => boolean) {
    const asked: string[] = [];
    const url = serverOf((request) => {
      asked.push(new URL(request.url).search);
      const index = asked.length - 1;
      const link = `<https://elsewhere.example.org/keys?state=pending&after=a%2B${index}>; rel="next"`;
      return json(pageAt(index), { headers: hasNext(index) ? { Link: link } : {} });
    });
    const pages: number[] = [];
    const read = async () => {
      const query = { state: 'Active' };
      const all = askPages({ url, token: TOKEN }, { method: 'GET', path: '/keys', query, answer });
      for await (const { page } of all) pages.push(page);
    };
    return { url, asked, pages, read };
  }

  test('is read page by page, always from the requested server, whatever host its links name', async () => {
    const { asked, pages, read } = await readPages(
      (page) => ({ page }),
      (index) => index < 2,
    );
    await read();
    expect(pages).toEqual([0, 1, 2]);
    expect(asked).toEqual(['?state=Active', '?state=Active&after=a%2B0', '?state=Active&after=a%2B1']);
  });

  test('is refused if it has too many pages or bytes', async () => {
    const small = await readPages(
      () => ({ page: 7 }),
      () => true,
    );
    const sentence = (url: string) =>
      `${url} returned too many pages; filter the list, for example by state or profile.`;
    expect(codeAndSentence(await refusal(small.read()))).toEqual([1, sentence(small.url)]);
    expect(small.asked.length).toBe(2_000);
    const filler = 'x'.repeat(2 ** 24);
    const big = await readPages(
      (page) => ({ page, filler }),
      () => true,
    );
    expect(codeAndSentence(await refusal(big.read()))).toEqual([1, sentence(big.url)]);
    expect(big.asked.length).toBe(4);
  }, 60_000);
});
