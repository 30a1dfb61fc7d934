import { describe, expect, test } from 'bun:test';
import { connect } from 'node:net';
import { SEND_BUFFER_BYTES } from '../../../server/http/send-buffer-limit.ts';
import { etagOf } from '../../../shared/etag.ts';
import { get, startTestServer, takeApart } from '../../support/http.ts';
import { changeBySql, insertProfile } from '../../support/profiles.ts';
import { expectRefusal, keyFor } from '../../support/requests.ts';
import { drawHalf, seededRandom } from '../../support/rounds.ts';

// Profiles 1 to 100 take 3 KB each, 101 to 130 90 KB, 131 to 133 900 KB, 134 5 MB, which no import allows. Linux itself buffers
// up to 4 MB of an unread response.

const MAX_BYTES = 1024 * 1024;

const server = await startTestServer();
const { db } = server.deps;
db.transaction(() => {
  for (let id = 1; id <= 134; id++) {
    const length = id <= 100 ? 3_000 : id <= 130 ? 90_000 : id <= 133 ? 900_000 : 5_000_000;
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
  'a page': '/api/leaderboard?limit=100&offset=0',
  'a page that ends early': '/api/leaderboard?limit=100&offset=90',
  'a page of one entry that is larger than any other page': '/api/leaderboard?limit=100&offset=133',
  'a lookup of many': batch(101, 11),
};

/** The expected body, put together from lookups of single profiles. */
async function whole(path: string): Promise<string> {
  const url = new URL(path, server.url);
  const one = async (id: number | string) => (await ask(`/api/lookup/uid/${id}`)).text();
  if (url.pathname === '/api/lookup') {
    const ids = url.searchParams.getAll('uid');
    const found = await Promise.all(ids.map(async (id) => `{"query":{"uid":${id}},"profile":${await one(id)}}`));
    return `{"profiles":[${found.join(',')}],"missing":[{"username":"nobody"}]}`;
  }
  const offset = Number(url.searchParams.get('offset'));
  const tail = `],"limit":100,"offset":${offset},"total":136}`;
  let text = '{"leaderboard":[';
  for (let index = offset; index < offset + 100; index++) {
    const entry = `{"rank":${index + 1},${(await one(index + 1)).slice(1)}`;
    const isFirst = index === offset;
    if (!isFirst && Buffer.byteLength(`${text},${entry}${tail}`) > MAX_BYTES) break;
    text += isFirst ? entry : `,${entry}`;
  }
  return text + tail;
}

/** Sends a request and reads nothing before `rest` is called, which returns the whole response. */
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

describe.each(drawHalf(Object.entries(KINDS), seededRandom('kinds of big responses')))('%s', (_kind, path) => {
  test('equals single lookups, for clients that read at once, late and twice, even if a profile changes in between', async () => {
    const wanted = await whole(path);
    const answer = await ask(path);
    const late = await askSlowly(path);
    const id = Number(/offset=(\d+)/.exec(path)?.[1] ?? 100) + 1;
    changeBySql(db, "UPDATE profiles SET display_name = 'Changed' WHERE id = ?", [id]);
    // Servers apply a change within 10 ms.
    server.deps.clock.advance(10);
    expect((await answer.text()) === wanted).toBe(true);
    const { status, headers, body } = await late.rest();
    expect(answer.headers.get('etag')).toBe(etagOf(wanted));
    expect([status, headers.get('etag')]).toEqual([200, answer.headers.get('etag')]);
    expect(Buffer.from(body, 'latin1').toString() === wanted).toBe(true);
    expect((await (await ask(path)).text()) === (await whole(path))).toBe(true);
  });

  test('has the same tag for conditional requests, HEAD and other keys', async () => {
    const etag = (await ask(path)).headers.get('etag') as string;
    expect((await ask(path, {}, other.secret)).headers.get('etag')).toBe(etag);
    expect((await ask(path, { 'If-None-Match': etag }, other.secret)).status).toBe(304);
    expect((await get(server, path, other.secret, { method: 'HEAD' })).headers.get('etag')).toBe(etag);
  });
});

test('concurrent requests of every kind get the same responses as single ones', async () => {
  const paths = [...Object.values(KINDS), '/api/leaderboard?limit=2', batch(1, 2), '/api/leaderboard?offset=-1'];
  const alone: string[] = [];
  for (const path of paths) alone.push(await (await ask(path)).text());
  expect(await Promise.all(paths.map(async (path) => (await ask(path)).text()))).toEqual(alone);
});

describe('a response has at most 1 MiB', () => {
  test('following `next` from page to page returns the whole board, each profile once', async () => {
    const shown: number[] = [];
    let pages = 0;
    for (let path: string | undefined = '/api/leaderboard?limit=100&offset=0'; path !== undefined; pages++) {
      const answer: Response = await ask(path);
      const text = await answer.text();
      const { leaderboard } = JSON.parse(text);
      expect(Buffer.byteLength(text) <= MAX_BYTES || leaderboard.length === 1).toBe(true);
      shown.push(...leaderboard.map(({ id }: { id: number }) => id));
      path = /\/api\/leaderboard\?limit=100&offset=\d+(?=>; rel="next")/.exec(answer.headers.get('link') ?? '')?.[0];
    }
    expect(shown.slice(0, 134)).toEqual(Array.from({ length: 134 }, (_, index) => index + 1));
    expect([shown.length, pages]).toEqual([136, 9]);
  });

  test('a lookup of many that would exceed it is refused, says what to do, and is still charged in full', async () => {
    const { secret: counted } = await keyFor(server.deps, ['100/1m']);
    const answer = await ask(batch(101, 12), {}, counted);
    const left = { RateLimit: '"1m";r=87;t=60' };
    expect(await expectRefusal(answer, 400, left)).toContain('request fewer');
    expect((await ask(batch(101, 11), {}, counted)).status).toBe(200);
    // The limit counts bytes, not characters.
    insertProfile(db, { id: 300, viewsCount: 0, customize: JSON.stringify({ text: '★'.repeat(400_000) }) });
    expect(await expectRefusal(await ask(batch(300, 1)), 400)).toContain('request fewer');
    changeBySql(db, 'DELETE FROM profile_names WHERE profile_id = 300');
    changeBySql(db, 'DELETE FROM profiles WHERE id = 300');
  });
});

test('big responses are refused while a key has too many unread bytes; small ones never are', async () => {
  const path = '/api/leaderboard?limit=1&offset=133';
  const bytes = Buffer.byteLength(await (await ask(path)).text());
  const slow = await askSlowly(path);
  expect(server.log.at(-1)?.status).toBe(200);
  expect(2 * bytes).toBeGreaterThan(SEND_BUFFER_BYTES.key);
  expect(await expectRefusal(await ask(path), 503, { 'retry-after': '10' })).toContain('read them first');
  for (const small of ['/api/lookup/uid/131', '/api/lookup/uid/134', batch(1, 3), '/api/leaderboard?limit=1']) {
    expect((await ask(small)).status).toBe(200);
  }
  expect((await ask(path, {}, other.secret)).status).toBe(200);
  expect((await ask(path, { 'If-None-Match': '*' })).status).toBe(304);
  slow.socket.destroy();
  // The system decides when it reports to the server that the client has disconnected.
  while ((await ask(path)).status !== 200) await new Promise((resolve) => setImmediate(resolve));
});
