import { expect, test } from 'bun:test';
import { createApp } from '../../../server/app.ts';
import { createSendBufferMemory, joinSendBuffers } from '../../../server/http/send-buffer-limit.ts';
import { createThrottleMemory, joinThrottle } from '../../../server/http/throttle.ts';
import { createService } from '../../../server/process/service.ts';
import { closeReader } from '../../../shared/db/reader.ts';
import { openMainThreadLimits } from '../../../shared/limits/threads/main-thread.ts';
import { createSharedBuffers } from '../../../shared/limits/threads/memory.ts';
import { joinLimits } from '../../../shared/limits/threads/worker.ts';
import { createUsageCounter, takeUsage } from '../../../shared/usage/usage-counter.ts';
import { prepare } from '../../support/requests.ts';
import { testClock, testDeps } from '../../support/world.ts';

test('if a worker has no memory left for a key’s rate limits, the request gets a 503 with Retry-After, and counts', async () => {
  const clock = testClock();
  const deps = testDeps({ clock });
  const secret = await prepare(deps);
  const mainThread = openMainThreadLimits(deps.config.databasePath, clock, () => {}, 9, createSharedBuffers(2 ** 20));
  const limits = joinLimits(mainThread.shared, 1, clock);
  const throttle = joinThrottle(createThrottleMemory(deps.random), 1, clock);
  const counter = createUsageCounter(clock);
  const sendBuffers = joinSendBuffers(createSendBufferMemory(1), 0);
  const service = createService(deps, () => {}, { shared: { limits, throttle, counter, sendBuffers } });
  const app = createApp(service);
  const rateLimits = [{ quota: 1_000, windowSeconds: 60 }];
  const fill = () => {
    for (let index = 0; ; index++) {
      limits.spend(limits.accountOf({ identifier: `k${index}`.padEnd(8, '_'), rateLimits }), 1);
    }
  };
  expect(fill).toThrow(expect.objectContaining({ code: 'busy' }));
  const request = new Request('http://h/api/lookup/uid/7', { headers: { Authorization: `Bearer ${secret}` } });
  const response = await app.fetch(request);
  expect([response.status, response.headers.get('Retry-After')]).toEqual([503, '1']);
  expect(response.headers.get('RateLimit')).not.toBeNull();
  expect(takeUsage(counter, 10).length).toBe(1);
  closeReader(service.reader);
  mainThread.close();
});
