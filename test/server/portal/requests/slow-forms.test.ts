import { expect, test } from 'bun:test';
import { connect, type Socket } from 'node:net';
import { get } from '../../../support/http.ts';
import { fetchPage, pageWorld, SAME_ORIGIN, serverOfPages } from '../../../support/pages.ts';
import { importLines } from '../../../support/profiles.ts';

const world = pageWorld({ TRUSTED_PROXIES: '127.0.0.1' });
await importLines(world.access, [{ id: 7, username: 'ada', email: 'ada@example.org' }]);
const server = await serverOfPages(world);

const sockets: Socket[] = [];

/** Starts sending a form and then stops. Resolves to the status of the response, or 0 if the connection is closed. */
function sendSlowly(address: string): Promise<number> {
  const { promise, resolve } = Promise.withResolvers<number>();
  const lines = Object.entries({ ...SAME_ORIGIN, 'X-Forwarded-For': address, Host: 'x', 'Content-Length': '60000' });
  const head = lines.map(([name, value]) => `${name}: ${value}\r\n`).join('');
  const socket = connect(server.port, '127.0.0.1', () =>
    socket.write(`POST /developers/sign-in HTTP/1.1\r\n${head}\r\nname=ada`),
  );
  sockets.push(socket);
  socket.on('data', (chunk) => resolve(Number(chunk.toString('latin1').split(' ')[1])));
  socket.on('error', () => undefined);
  socket.on('close', () => resolve(0));
  return promise;
}

test('clients that send forms slowly from many IP addresses can’t keep others from using the pages', async () => {
  const slow = Array.from({ length: 500 }, (_, index) => sendSlowly(`10.0.${index % 20}.1`));
  await Bun.sleep(200);
  const headers = { 'X-Forwarded-For': '192.0.2.9' };
  expect((await fetchPage(server, '/developers', { headers })).status).toBe(200);
  const body = new URLSearchParams({ name: 'ada', address: 'ada@example.org', next: '' });
  expect((await fetchPage(server, '/developers/sign-in', { method: 'POST', body, headers })).status).toBe(303);
  expect((await get(server, '/healthz')).status).toBe(200);
  // The listener closes them, because nothing more arrives.
  expect(new Set(await Promise.all(slow))).toEqual(new Set([0]));
  for (const socket of sockets) socket.destroy();
}, 20_000);
