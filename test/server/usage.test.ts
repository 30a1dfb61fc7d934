import { expect, test } from 'bun:test';
import { openFile } from '../../shared/db/connect.ts';
import { keyUsage } from '../../shared/usage/usage.ts';
import { get, startTestServer } from '../support/http.ts';
import { keyFor, prepare } from '../support/keys.ts';
import { leftIn } from '../support/storage.ts';

test('every response to a valid key is counted, and is in the database once the server has stopped', async () => {
  const server = await startTestServer();
  const { deps } = server;
  const other = (await prepare(deps)).slice(4, 12);
  const { identifier, secret } = await keyFor(deps, ['7/1d'], ['api.lookup']);
  const paths = [
    '/api/lookup/uid/7',
    '/api/key',
    '/api/lookup/uid/8',
    '/api/lookup/uid/x',
    '/api/leaderboard',
    '/api/no',
  ];
  for (const path of paths) await get(server, path, secret);
  await get(server, '/api/key', secret, { method: 'POST' });
  for (let turn = 0; turn < 3; turn++) await get(server, '/api/lookup/uid/7', secret);
  // These don't belong to a key.
  await get(server, '/api/key', 'guess');
  await get(server, '/healthz', secret);
  await server.stop();
  const { days, lastUsedAt } = keyUsage(deps, identifier, 1);
  expect(days).toEqual([{ day: '2026-01-01', ok: 4, notFound: 2, forbidden: 1, malformed: 2, limited: 1, failed: 0 }]);
  expect(lastUsedAt).toBe('2026-01-01T00:00:00.000Z');
  expect(keyUsage(deps, other, 1).lastUsedAt).toBeNull();
});

test('a 304 counts as a success, and a 500 as a failure', async () => {
  const server = await startTestServer();
  await prepare(server.deps);
  const { identifier, secret } = await keyFor(server.deps, ['9/1d']);
  const etag = (await get(server, '/api/lookup/uid/7', secret)).headers.get('etag') as string;
  const again = await get(server, '/api/lookup/uid/7', secret, { headers: { 'If-None-Match': etag } });
  expect(again.status).toBe(304);
  server.deps.db.$client.run('ALTER TABLE profile_names RENAME TO other_names');
  expect((await get(server, '/api/lookup/username/ada', secret)).status).toBe(500);
  await server.stop();
  expect(keyUsage(server.deps, identifier, 1).days[0]).toMatchObject({ ok: 2, failed: 1 });
});

test('an import that locks the database does not delay requests; they are counted, also by their limits, which are saved', async () => {
  const server = await startTestServer();
  await prepare(server.deps);
  const { databasePath } = server.deps.config;
  const { identifier, secret } = await keyFor(server.deps, ['50/1d']);
  const importing = openFile(databasePath, 0);
  importing.run('BEGIN IMMEDIATE');
  for (let turn = 0; turn < 50; turn++) expect((await get(server, '/api/lookup/uid/7', secret)).status).toBe(200);
  expect((await get(server, '/api/lookup/uid/7', secret)).status).toBe(429);
  importing.run('ROLLBACK');
  importing.close();
  await server.stop();
  expect(
    leftIn(
      server.deps.db.$client,
      { identifier, rateLimits: [{ quota: 50, windowSeconds: 86_400 }] },
      server.deps.clock,
    ),
  ).toEqual([0]);
  expect(keyUsage(server.deps, identifier, 1).days[0]).toMatchObject({ ok: 50, limited: 1 });
});
