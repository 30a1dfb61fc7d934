import { expect, test } from 'bun:test';
import { createLog } from '../../../server/observability/log.ts';
import { createBridge } from '../../../server/process/portal-bridge.ts';
import { answerPort } from '../../../server/process/portal-port.ts';
import { MAX_FORM_BYTES } from '../../../server/thread/forwarded.ts';

/** A bridge to the test's own thread, and the requests that it forwards. */
function bridge(answer: (request: Request) => Promise<Response> = async () => new Response()) {
  const seen: Request[] = [];
  const { fetch } = createBridge({
    log: createLog(
      'silent',
      () => 0,
      () => {},
    ),
    connect: () => {
      const { port1, port2 } = new MessageChannel();
      answerPort(port2, (request) => {
        seen.push(request);
        return answer(request);
      });
      return { port: port1, thread: 1 };
    },
    end: () => {},
    refuse: async ({ url }, error) => Response.json({ url, refused: (error as Error).message }, { status: 503 }),
  });
  return { seen, fetch: (request: Request, address = '192.0.2.7') => fetch(request, { address, requestId: 'abc-1' }) };
}

test('a request arrives unchanged, except for the IP address and id, which clients can’t set', async () => {
  const { seen, fetch } = bridge();
  const headers = { cookie: 'a=b; c=d', 'X-Client-Address': '203.0.113.1', 'X-Request-Id': 'mine' };
  await fetch(
    new Request('http://h:1/developers/keys/%2f%c3?a=%zz&a#b', { method: 'POST', headers, body: 'a=\u00e4' }),
  );
  const [request] = seen as [Request];
  expect([request.method, request.url]).toEqual(['POST', 'http://portal/developers/keys/%2f%c3?a=%zz&a%23b']);
  expect(await request.text()).toBe('a=\u00e4');
  expect(Object.fromEntries(request.headers)).toMatchObject({
    cookie: 'a=b; c=d',
    'x-client-address': '192.0.2.7',
    'x-request-id': 'abc-1',
  });
});

test('a response comes back unchanged, with all of its cookies', async () => {
  const made = new Response('\u00e4', {
    status: 418,
    headers: [
      ['Set-Cookie', 'a=1'],
      ['Set-Cookie', 'b=2'],
    ],
  });
  const answer = await bridge(async () => made).fetch(new Request('http://h/developers'));
  expect([answer.status, await answer.text(), answer.headers.getSetCookie()]).toEqual([418, '\u00e4', ['a=1', 'b=2']]);
});

test('a body that is too long arrives truncated one byte past the limit, or empty if its Content-Length is too long', async () => {
  const { seen, fetch } = bridge();
  const long = 'x'.repeat(2 * MAX_FORM_BYTES);
  await fetch(new Request('http://h/', { method: 'POST', body: new Blob([long]).stream() }));
  await fetch(
    new Request('http://h/', { method: 'POST', body: long, headers: { 'Content-Length': String(long.length) } }),
  );
  expect(await Promise.all(seen.map(async (one) => (await one.arrayBuffer()).byteLength))).toEqual([
    MAX_FORM_BYTES + 1,
    0,
  ]);
});

test('one address block may have 32 requests in flight, all blocks together 256; further ones get a 503', async () => {
  const { promise: gate, resolve: open } = Promise.withResolvers<void>();
  const { fetch } = bridge(async () => {
    await gate;
    return new Response();
  });
  const ask = (block: number) => fetch(new Request('http://h/'), `192.0.2.${block}`);
  const waiting = Array.from({ length: 256 }, (_, index) => ask(index % 8));
  expect((await ask(0)).status).toBe(503);
  // Refused as a request to the portal, whose application finds no path in an https: URL.
  const refused = await fetch(new Request('https://api.example.org/manage/v1/me?a=b'), '192.0.2.0');
  expect(await refused.json()).toMatchObject({ url: 'http://portal/manage/v1/me?a=b' });
  expect((await ask(9)).status).toBe(503);
  open();
  expect((await Promise.all(waiting)).every(({ status }) => status === 200)).toBe(true);
  expect((await ask(0)).status).toBe(200);
});
