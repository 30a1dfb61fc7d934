import { expect, test } from 'bun:test';
import { startListening, stopListening } from '../../../server/process/listener.ts';
import { closeService, createService } from '../../../server/process/service.ts';
import { testDeps } from '../../support/world.ts';

test('an error thrown by the application itself is a 500, and logged under the id of the response', async () => {
  const lines: string[] = [];
  const service = createService(testDeps(), (line) => void lines.push(line));
  const app = {
    fetch: () => {
      throw new Error('A fault of the application.');
    },
  };
  const listener = startListening(service, app, 0, { drainMs: 0 });
  const answer = await fetch(listener.url);
  await stopListening(listener);
  closeService(service);
  expect([answer.status, answer.headers.get('x-error-code')]).toEqual([500, 'internal']);
  expect(await answer.text()).not.toContain('fault of the application');
  const logged = lines.map((line) => JSON.parse(line)).filter(({ level }) => level === 'error');
  expect(logged).toMatchObject([{ message: 'A request failed.', requestId: answer.headers.get('x-request-id') }]);
  expect(logged[0].cause).toContain('A fault of the application.');
});
