import { Database } from 'bun:sqlite';
import { expect, test } from 'bun:test';
import { connect } from 'node:net';
import { DAY_MS, isoTime } from '../../../shared/clock.ts';
import { removeToken } from '../../../shared/tokens.ts';
import { get, startTestServer } from '../../support/http.ts';
import { issue } from '../../support/keys.ts';
import { addBackend } from '../../support/people.ts';
import { exportText, importLines, jsonLines } from '../../support/profiles.ts';
import { onBox } from '../../support/world.ts';
import { expectRefused } from '../refusals.ts';

// A backend's lines over HTTP. What a line does is tried in shared/profiles/import.

async function sending(changes: Parameters<typeof addBackend>[1] = {}) {
  const server = await startTestServer();
  const access = server.deps;
  const token = addBackend(access, { rights: ['profiles'], ...changes }).token;
  const post = (body: NonNullable<RequestInit['body']>, query = '', headers: Record<string, string> = {}) => {
    const init = { method: 'POST', body, headers: { 'Content-Type': 'application/jsonl', ...headers } };
    return get(server, `/manage/v1/profiles${query}`, token, init);
  };
  const send = (query: string, ...lines: (object | string)[]) => post(jsonLines(...lines), query);
  const stored = async () => Bun.JSONL.parse(await exportText(access)) as { id: number }[];
  return { access, server, token, post, send, stored };
}

const ADA = { id: 7, username: 'ada', email: 'ada@example.org' };
const BEA = { id: 8, username: 'bea', email: 'bea@example.org' };

test('lookups see imported lines at once, and sending the same lines again is harmless', async () => {
  const { access, server, send, stored } = await sending();
  await importLines(access, [{ id: 1, username: 'owner', email: 'owner@example.org' }]);
  const { secret } = await issue(access, { profile: 'owner', permissions: ['api.lookup'] });
  for (const imported of [2, 2]) {
    const answer = await send('', ADA, BEA);
    expect([answer.status, answer.headers.get('cache-control')]).toEqual([200, 'no-store']);
    expect(await answer.json()).toMatchObject({ imported, deleted: 0, refused: [] });
  }
  expect(await (await get(server, '/api/lookup/uid/8', secret)).json()).toMatchObject({ username: 'bea' });
  for (const deleted of [1, 0]) {
    const answer = await send('?mode=merge', { id: 7, displayName: 'Ada L' }, { id: 8, deleted: true });
    expect(await answer.json()).toMatchObject({ imported: 1, deleted });
  }
  expect((await get(server, '/api/lookup/uid/8', secret)).status).toBe(404);
  expect((await stored()).find(({ id }) => id === 7)).toMatchObject({ ...ADA, displayName: 'Ada L' });
});

test('each line is applied or refused by itself, the 9 999th of 10 000 too', async () => {
  const { send, stored } = await sending();
  const lines: (object | string)[] = Array.from({ length: 10_000 }, (_, at) => ({ id: at + 1, username: `user${at}` }));
  lines[9_998] = '{';
  const answer = await send('', ...lines);
  expect(answer.status).toBe(200);
  expect(await answer.json()).toMatchObject({ imported: 9_999, refused: [{ line: 9_999, id: null }] });
  expect(await stored()).toHaveLength(9_999);
}, 30_000);

function streamOf(chunks: readonly Uint8Array[]) {
  return new ReadableStream<Uint8Array>({
    start: (stream) => {
      for (const chunk of chunks) stream.enqueue(chunk);
      stream.close();
    },
  });
}

test.each([7, 16_383, 16_385])('a body in chunks of %i bytes is read as one', async (size) => {
  const { post, stored } = await sending();
  const profiles = Array.from({ length: 300 }, (_, id) => ({
    id: id + 1,
    username: `u${id}`,
    displayName: 'Łódź 😀'.repeat(9),
  }));
  const body = Buffer.from(`${jsonLines(...profiles, '{')}{"id":400,"username":"last"}`);
  const chunks = Array.from({ length: Math.ceil(body.length / size) }, (_, at) =>
    body.subarray(at * size, (at + 1) * size),
  );
  const answer = await post(streamOf(chunks));
  expect(await answer.json()).toMatchObject({ imported: 301, refused: [{ line: 301 }] });
  expect(await stored()).toMatchObject([...profiles, { id: 400 }]);
});

test('more than 10 000 lines or 16 MiB are refused, with or without a Content-Length, and nothing is imported', async () => {
  const { post, stored } = await sending();
  const long = Buffer.alloc(16 * 1024 * 1024 + 1, 0x20);
  for (const body of ['\n'.repeat(10_001), `${'\n'.repeat(10_000)}{}`, long, new Blob([long]).stream()]) {
    const sentence = await expectRefused(await post(body), 413, 'too_many_lines');
    expect(sentence).toContain('10000 lines and 16 MiB');
  }
  expect(await stored()).toEqual([]);
});

test('an array, which could have more elements than a request may have lines, is one refused line', async () => {
  const { send, stored } = await sending();
  const array = JSON.stringify(Array.from({ length: 10_001 }, (_, at) => ({ id: at + 1, username: `u${at}` })));
  for (const [line, reason] of [
    ['[{"id":7,"username":"ada"}]', 'the line must be an object'],
    [array, 'the line is longer than 256 KiB'],
  ] as const) {
    expect(await (await send('', line)).json()).toMatchObject({ imported: 0, refused: [{ line: 1, reason }] });
  }
  expect(await stored()).toEqual([]);
});

test('a request that is cut off changes nothing, and does not block the next one', async () => {
  const { server, token, send, stored } = await sending();
  const body = jsonLines(ADA, BEA);
  for (const length of [0, 10, jsonLines(ADA).length, body.length - 1]) {
    await cutOff(server.port, token, body, length);
    expect(await stored()).toEqual([]);
  }
  let answer = await send('', ADA, BEA);
  for (; answer.status === 429; answer = await send('', ADA, BEA)) await Bun.sleep(10);
  expect([answer.status, (await stored()).length]).toEqual([200, 2]);
});

test('a second request at a time gets 429 with Retry-After', async () => {
  const { post, send, stored } = await sending();
  const isRefused = Promise.withResolvers<void>();
  const body = new ReadableStream<Uint8Array>({
    async start(controller) {
      controller.enqueue(Buffer.from(jsonLines(ADA)));
      await isRefused.promise;
      controller.close();
    },
  });
  const first = post(body);
  // Without a line, because it may arrive before the first one.
  let late = await send('');
  for (; late.status !== 429; late = await send('')) await Bun.sleep(10);
  expect(Number(late.headers.get('retry-after'))).toBeGreaterThan(0);
  isRefused.resolve();
  expect((await first).status).toBe(200);
  expect(await stored()).toHaveLength(1);
});

test('lines of a token that is removed while they arrive change nothing', async () => {
  const { access, token, post, send, stored } = await sending();
  await send('', ADA, BEA);
  const isRemoved = Promise.withResolvers<void>();
  const body = new ReadableStream<Uint8Array>({
    async start(controller) {
      controller.enqueue(Buffer.from(jsonLines({ id: 7, deleted: true })));
      await isRemoved.promise;
      controller.enqueue(Buffer.from(jsonLines({ ...BEA, displayName: 'Eve' })));
      controller.close();
    },
  });
  const answer = post(body);
  while ((await send('')).status !== 429) await Bun.sleep(10);
  removeToken(access, token.slice(4, 12), onBox('root'));
  isRemoved.resolve();
  await expectRefused(await answer, 401, 'invalid_token');
  expect(await stored()).toMatchObject([ADA, { ...BEA, displayName: 'bea' }]);
});

test('an import ends when its token is removed, and its sender learns how many lines were imported', async () => {
  const { access, token, send, stored } = await sending();
  const answer = send('', ...Array.from({ length: 10_000 }, (_, at) => ({ id: at + 1, username: `user${at}` })));
  while ((await stored()).length === 0) await Bun.sleep(1);
  removeToken(access, token.slice(4, 12), onBox('root'));
  const sentence = await expectRefused(await answer, 401, 'invalid_token');
  const { length } = await stored();
  expect([sentence, length < 10_000]).toEqual([`This token is not valid; ${length} lines were imported.`, true]);
}, 30_000);

test('lines wait for up to 2 seconds while another process holds the lock, and nobody else waits', async () => {
  const { access, server, send, stored } = await sending();
  const other = new Database(access.config.databasePath);
  for (const [heldMs, status] of [
    [500, 200],
    [3_000, 503],
  ] as const) {
    other.run('BEGIN IMMEDIATE');
    const answered = send('', ADA);
    const end = Bun.sleep(heldMs).then(() => other.run('ROLLBACK'));
    let isAnswered = false;
    void answered.then(() => {
      isAnswered = true;
    });
    await Bun.sleep(200);
    expect([(await get(server, '/healthz')).status, isAnswered]).toEqual([200, false]);
    const answer = await answered;
    expect([heldMs, answer.status]).toEqual([heldMs, status]);
    expect(await answer.text()).not.toContain(access.folder);
    await end;
  }
  other.close();
  expect(await stored()).toMatchObject([ADA]);
}, 30_000);

test('a token without addresses changes none', async () => {
  const { access, post, stored } = await sending({ excludesContactFields: true });
  await importLines(access, [ADA]);
  const lines = jsonLines({ id: 7, username: 'ada' }, { ...ADA, email: 'eve@example.org' });
  expect(await (await post(lines)).json()).toMatchObject({
    imported: 1,
    refused: [{ line: 2, id: 7, field: 'email', reason: 'email may not be changed with this token' }],
  });
  expect(await stored()).toMatchObject([ADA]);
});

test('as-of skips and counts profiles that were written or erased here since then; an impossible time is refused', async () => {
  const {
    access: { clock },
    send,
    stored,
  } = await sending();
  await send('', ADA, { id: 9, username: 'gone' });
  const asOf = isoTime(clock.nowMs());
  clock.advance(1_000);
  await send('?mode=merge', { id: 7, banned: true }, { id: 9, deleted: true });
  for (const query of ['', 'mode=merge&']) {
    const answer = await send(`?${query}as-of=${asOf}`, { ...ADA, banned: false }, BEA, { id: 9, username: 'gone' });
    expect([answer.status, await answer.json()]).toMatchObject([200, { imported: 1, newer: 2 }]);
  }
  expect(await stored()).toMatchObject([{ ...ADA, banned: true }, BEA]);
  const day = (days: number) => isoTime(clock.nowMs() + days * DAY_MS);
  for (const time of [day(1), day(-41), 'yesterday', '']) {
    const sentence = await expectRefused(await send(`?as-of=${time}`, ADA), 400, 'bad_parameter');
    expect(sentence).toStartWith('as-of m');
  }
});

test('a body that is not JSON Lines, and a malformed query, are refused', async () => {
  const { post, send } = await sending();
  for (const headers of [{ 'Content-Type': 'application/json' }, { 'Content-Encoding': 'gzip' }]) {
    await expectRefused(await post(jsonLines(ADA), '', headers), 415, 'not_lines');
  }
  for (const query of ['?mode=other', '?partial=1', '?mode=merge&mode=merge', '?prune=1']) {
    await expectRefused(await send(query, ADA), 400, 'bad_parameter');
  }
});

/** Begins a request, and closes the connection after `length` bytes of the body. */
function cutOff(port: number, token: string, body: string, length: number): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const lines = [
    'POST /manage/v1/profiles HTTP/1.1',
    'Host: a',
    `Authorization: Bearer ${token}`,
    'Content-Type: application/jsonl',
    `Content-Length: ${body.length}`,
  ];
  const socket = connect(port, '127.0.0.1', () =>
    socket.write(`${lines.join('\r\n')}\r\n\r\n${body.slice(0, length)}`, () => socket.destroy()),
  );
  socket.on('close', () => resolve());
  return promise;
}
