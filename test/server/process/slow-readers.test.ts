import { expect, test } from 'bun:test';
import { connect } from 'node:net';
import { get, startTestServer, takeApart } from '../../support/http.ts';
import { insertProfile } from '../../support/profiles.ts';
import { prepare } from '../../support/requests.ts';

const CLIENTS = 8;
const PROFILES = 108;

// All bodies are composed in one buffer; these are about as large as the buffer, and larger than a socket accepts.
test('clients that read late get their own bodies, not those of later responses', async () => {
  const server = await startTestServer();
  const secret = await prepare(server.deps);
  for (let id = 100; id < 100 + PROFILES; id++) {
    const customize = JSON.stringify({ text: `${id} `.repeat(2_200) });
    insertProfile(server.deps.db, { id, viewsCount: 10_000 - id, customize });
  }
  const many = (first: number) => Array.from({ length: 38 }, (_, index) => `uid=${first + index}`).join('&');
  const paths = Array.from({ length: CLIENTS }, (_, index) =>
    index % 2 === 0 ? `/api/leaderboard?limit=100&offset=${index}` : `/api/lookup?${many(100 + index)}`,
  );
  const answered = server.log.length;
  const sockets = paths.map((path) => {
    const socket = connect(server.port, '127.0.0.1');
    socket.write(`GET ${path} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${secret}\r\nConnection: close\r\n\r\n`);
    return socket;
  });
  while (server.log.length < answered + CLIENTS) await new Promise((resolve) => setImmediate(resolve));
  for (const [index, path] of paths.entries()) {
    const chunks: Buffer[] = [];
    for await (const chunk of sockets[index] ?? []) chunks.push(chunk);
    const { status, body } = takeApart(Buffer.concat(chunks).toString('latin1'));
    expect(status).toBe(200);
    expect(body.length).toBeGreaterThan(300_000);
    expect(body === (await (await get(server, path, secret)).text())).toBe(true);
  }
});
