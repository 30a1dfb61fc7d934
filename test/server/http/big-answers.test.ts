import { describe, expect, test } from 'bun:test';
import { connect } from 'node:net';
import { answerOf } from '../../../server/http/big-answers.ts';
import type { Exchange } from '../../../server/http/exchange.ts';
import { createUnsentMemory, joinUnsent, UNSENT_BYTES } from '../../../server/http/unsent.ts';
import { createCollector } from '../../../server/process/collector.ts';
import type { Service } from '../../../server/process/service.ts';
import { etagOf, PIECE_BYTES } from '../../../shared/etag.ts';
import type { LongBody } from '../../../shared/profiles/read/long-body.ts';
import { get, startTestServer, takeApart } from '../../support/http.ts';
import { changeByHand } from '../../support/import.ts';
import { insertProfile } from '../../support/profiles.ts';
import { expectRefusal, keyFor } from '../../support/requests.ts';

// Profiles 1 to 100 take 3 KB each, 101 to 200 90 KB, 201 to 210 900 KB. A hundred of the first are held until they are
// sent; of the others the answer is read as it is sent.

const server = await startTestServer();
const { db } = server.deps;
db.transaction(() => {
  for (let id = 1; id <= 210; id++) {
    const length = id <= 100 ? 3_000 : id <= 200 ? 90_000 : 900_000;
    insertProfile(db, {
      id,
      viewsCount: 100_000 - id,
      customize: JSON.stringify({ text: `é${id}`.padEnd(length, `${id} `) }),
    });
  }
});
const { secret } = await keyFor(server.deps, ['1000000/1s']);
const other = await keyFor(server.deps, ['1000000/1s']);
const ask = (path: string, headers: Record<string, string> = {}, by = secret) => get(server, path, by, { headers });

const uids = (first: number, count: number) => Array.from({ length: count }, (_, index) => `uid=${first + index}`);
const batch = (first: number, count: number) => `/api/lookup?${[...uids(first, count), 'username=nobody'].join('&')}`;
const KINDS = {
  'a page that is held': '/api/leaderboard?limit=100&offset=0',
  'a page that is read as it is sent': '/api/leaderboard?limit=100&offset=100',
  'a page of both kinds': '/api/leaderboard?limit=100&offset=90',
  'a lookup that is held': batch(1, 100).replace('uid=100&', ''),
  'a lookup that is read as it is sent': batch(101, 99),
};

/** What lookups of one give, put together as the answer to this should be. */
async function whole(path: string): Promise<string> {
  const url = new URL(path, server.url);
  const one = async (id: number | string) => (await ask(`/api/lookup/uid/${id}`)).text();
  if (url.pathname === '/api/lookup') {
    const ids = url.searchParams.getAll('uid');
    const found = await Promise.all(ids.map(async (id) => `{"query":{"uid":${id}},"profile":${await one(id)}}`));
    return `{"profiles":[${found.join(',')}],"missing":[{"username":"nobody"}]}`;
  }
  const offset = Number(url.searchParams.get('offset'));
  const entries = await Promise.all(
    Array.from({ length: 100 }, async (_, at) => `{"rank":${offset + at + 1},${(await one(offset + at + 1)).slice(1)}`),
  );
  return `{"leaderboard":[${entries.join(',')}],"limit":100,"offset":${offset},"total":212}`;
}

/** A connection on which this was asked for; nothing is read before `rest` is called, which returns all that came. */
async function askSlowly(path: string, by = secret) {
  const answered = server.log.length;
  const socket = connect(server.port, '127.0.0.1');
  socket.on('error', () => undefined);
  socket.pause();
  socket.write(`GET ${path} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${by}\r\nConnection: close\r\n\r\n`);
  while (server.log.length <= answered) await new Promise((resolve) => setImmediate(resolve));
  const rest = async () => {
    const chunks: Buffer[] = [];
    const closed = new Promise((resolve) => socket.on('close', resolve));
    socket.on('data', (chunk: Buffer) => chunks.push(chunk));
    socket.resume();
    await closed;
    return takeApart(Buffer.concat(chunks).toString('latin1'));
  };
  return { socket, rest };
}

test('requests of every kind that arrive at once are answered as those that come alone', async () => {
  const paths = [...Object.values(KINDS), '/api/leaderboard?limit=2', batch(1, 2), '/api/leaderboard?offset=-1'];
  const alone: string[] = [];
  for (const path of paths) alone.push(await (await ask(path)).text());
  const inTurn = [paths[1] as string, ...paths];
  const atOnce = await Promise.all(inTurn.map(async (path) => (await ask(path)).text()));
  expect(atOnce).toEqual([alone[1] as string, ...alone]);
});

test('of many long answers that are asked for at once, one in each turn of the event loop finds its body', async () => {
  const turns: number[] = [];
  let turn = 0;
  const count = () => {
    turn++;
    counting = setImmediate(count);
  };
  let counting = setImmediate(count);
  const body: LongBody = { open: () => (to) => to.push('a long text') < 0 };
  const find = () => {
    turns.push(turn);
    return { body, headers: {} };
  };
  const service = { unsent: joinUnsent(createUnsentMemory(1), 0), collector: createCollector() } as unknown as Service;
  const of = (at: number) => ({ key: { identifier: `key${at}` } }) as Exchange;
  const answers = await Promise.all(Array.from({ length: 8 }, (_, at) => answerOf(service, of(at), find)));
  clearImmediate(counting);
  for (const { body: sent } of answers) if (sent instanceof ReadableStream) await sent.cancel();
  expect(turns.length).toBe(8);
  expect(new Set(turns).size).toBe(8);
});

describe.each(Object.entries(KINDS))('%s', (_kind, path) => {
  test('is what lookups of one give, for clients that read at once, late, and twice', async () => {
    const wanted = await whole(path);
    const answer = await ask(path);
    const late = await askSlowly(path);
    expect((await answer.text()) === wanted).toBe(true);
    const { status, headers, body } = await late.rest();
    expect(answer.headers.get('etag')).toBe(etagOf(wanted));
    expect([status, headers.get('transfer-encoding'), headers.get('etag')]).toEqual([
      200,
      'chunked',
      answer.headers.get('etag'),
    ]);
    expect(Buffer.from(body, 'latin1').toString() === wanted).toBe(true);
    expect((await (await ask(path)).text()) === wanted).toBe(true);
  });

  test('has a tag that a conditional request, a HEAD and another key get too', async () => {
    const etag = (await ask(path)).headers.get('etag') as string;
    expect((await ask(path, {}, other.secret)).headers.get('etag')).toBe(etag);
    expect((await ask(path, { 'If-None-Match': etag }, other.secret)).status).toBe(304);
    expect((await get(server, path, other.secret, { method: 'HEAD' })).headers.get('etag')).toBe(etag);
  });
});

test('answers that nobody reads are refused beyond what a key may hold; what is small never is', async () => {
  const path = batch(201, 10);
  const sockets: Awaited<ReturnType<typeof askSlowly>>[] = [];
  const statuses: unknown[] = [];
  for (let turn = 0; turn < 10; turn++) {
    sockets.push(await askSlowly(path));
    statuses.push(server.log.at(-1)?.status);
  }
  // Each holds one profile, and the rest of a piece that began before it.
  const held = Math.floor(UNSENT_BYTES.key / (900_000 + PIECE_BYTES));
  expect(statuses).toEqual([...Array(held).fill(200), ...Array(10 - held).fill(503)]);
  expect(await expectRefusal(await ask(path), 503, { 'retry-after': '10' })).toContain('read them first');
  for (const small of ['/api/lookup/uid/201', batch(1, 3), '/api/leaderboard?limit=1']) {
    expect((await ask(small)).status).toBe(200);
  }
  expect((await ask(path, {}, other.secret)).status).toBe(200);
  for (const { socket } of sockets) socket.destroy();
  // The system tells the server in its own time that they are gone.
  while ((await ask(path)).status !== 200) await new Promise((resolve) => setImmediate(resolve));
});

test('where a profile changes while the answer is sent, the answer ends without being complete', async () => {
  const path = KINDS['a page that is read as it is sent'];
  const answer = await ask(path);
  const before = answer.headers.get('etag');
  const wanted = await answer.text();
  const late = await askSlowly(path);
  changeByHand(server.deps, 'user200', () => ({ viewsCount: 99_801 }));
  const { headers, body } = await late.rest();
  expect(headers.get('etag')).toBe(before);
  expect(body.endsWith('\r\n0\r\n\r\n')).toBe(false);
  expect(body.length).toBeLessThan(wanted.length);
  expect(server.log.at(-1)).toMatchObject({ level: 'warn', message: expect.stringContaining('cut off') });
  expect((await ask(path)).headers.get('etag')).not.toBe(before);
});
