import { expect, test } from 'bun:test';
import { importLines } from '../../../support/import.ts';
import { issue } from '../../../support/keys.ts';
import { startServerProcess } from '../../../support/machine/server-process.ts';
import { expectEachWorkerSays } from '../../../support/machine/workers.ts';
import { testAccess } from '../../../support/portal/access.ts';
import { sendLines, tokenFor } from '../../../support/portal/manage.ts';

// Profiles that a backend sends to a server with several workers, with real clocks.

test('whichever worker imports lines, all of them serve the changes after the response', async () => {
  const access = testAccess();
  const createdAt = '2024-05-01T00:00:00.000Z';
  await importLines(access, [
    { id: 1, username: 'owner', email: 'owner@example.org' },
    { id: 7, username: 'ada', createdAt },
  ]);
  const { secret } = await issue(access, { profile: 'owner', permissions: ['api.lookup'] });
  const token = tokenFor(access);
  const server = await startServerProcess({ DATABASE_PATH: access.config.databasePath, WORKERS: '2' });
  const send = (viewsCount: number) =>
    sendLines(server, token, '?mode=merge', JSON.stringify({ id: 7, viewsCount }), { Connection: 'close' });

  const takers = new Set<string>();
  for (let views = 1; takers.size < 2; views++) {
    await expectEachWorkerSays(server, '/api/lookup/uid/7', secret, { viewsCount: views - 1 });
    const answer = await send(views);
    expect(answer.status).toBe(200);
    takers.add((answer.headers.get('x-request-id') ?? '').slice(0, 12));
    await expectEachWorkerSays(server, '/api/lookup/uid/7', secret, { viewsCount: views });
  }
  expect(await server.end()).toBe(0);
}, 60_000);
