import { expect, test } from 'bun:test';
import { createService } from '../../../server/app.ts';
import { refuseUncaught } from '../../../server/http/every-request.ts';
import { readTransport } from '../../../server/http/transport.ts';
import { listen } from '../../../server/listen.ts';
import { startServer } from '../../../server/main.ts';
import { createLog } from '../../../server/observability/log.ts';
import { closeReader } from '../../../shared/db/reader.ts';
import { testDeps } from '../../support/world.ts';

test('an error thrown by the application itself is a 500, and logged under the id of the response', async () => {
  const lines: string[] = [];
  const service = createService(
    testDeps(),
    readTransport(testDeps().config),
    createLog('info', Date.now, (line) => void lines.push(line)),
  );
  const answering = {
    fetch: () => {
      throw new Error('A fault of the application.');
    },
    error: (error: unknown) => refuseUncaught(service, error),
  };
  const listener = listen(service.deps.config, 0, answering, 0);
  const answer = await fetch(listener.url);
  await listener.stop();
  closeReader(service.reader);
  expect([answer.status, answer.headers.get('x-error-code')]).toEqual([500, 'internal']);
  expect(await answer.text()).not.toContain('fault of the application');
  const logged = lines.map((line) => JSON.parse(line)).filter(({ level }) => level === 'error');
  expect(logged).toMatchObject([{ message: 'A request failed.', requestId: answer.headers.get('x-request-id') }]);
  expect(logged[0].cause).toContain('A fault of the application.');
});

test('a request that arrives while the pages are still being loaded gets its usual answer', async () => {
  const answers: Promise<Response>[] = [];
  const write = (line: string) => {
    const url = /Listening on (http:[^"]+)\./.exec(line)?.[1];
    if (url === undefined) return;
    for (const path of ['/readyz', '/api/key', '/developers', '/manage/v1/me', '/docs.md', '/nothing']) {
      answers.push(fetch(url + path, { headers: { 'Sec-Fetch-Site': 'none' } }));
    }
  };
  const server = await startServer(testDeps(), { port: 0, drainMs: 0, log: { write, drain: async () => {} } });
  const statuses = (await Promise.all(answers)).map(({ status }) => status);
  await server.stop();
  expect(statuses).toEqual([200, 401, 200, 401, 200, 404]);
});
