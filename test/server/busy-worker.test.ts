import { expect, test } from 'bun:test';
import { createApp } from '../../server/app.ts';
import { openExchange } from '../../server/chain.ts';
import { createService } from '../../server/service.ts';
import { createThrottleMemory, joinThrottle } from '../../server/throttle.ts';
import { closeReader } from '../../shared/db/reader.ts';
import { createSharedBuffers, openAccountMemory } from '../../shared/keys/account-memory.ts';
import { closeLedger } from '../../shared/keys/quota-file.ts';
import { accountOf, joinLedger, openLedger, spend } from '../../shared/keys/quota-ledger.ts';
import { createTallies } from '../../shared/keys/tallies.ts';
import { prepare } from '../support/requests.ts';
import { testClock, testDeps } from '../support/world.ts';

test('a key for whose rate limits a worker has no memory left is told to come back, and counted', async () => {
  const clock = testClock();
  const deps = testDeps({ clock });
  const secret = await prepare(deps);
  const buffers = createSharedBuffers(2 ** 20);
  const keeper = openLedger(deps.config.databasePath, clock, () => {}, openAccountMemory(buffers, 9, 20));
  const ledger = joinLedger(clock, keeper.timeline, openAccountMemory(buffers, 1), () => {});
  const throttle = joinThrottle(createThrottleMemory(deps.random), 1, clock);
  const tallies = createTallies(clock);
  const usage = { ...tallies, save: () => true, close: () => {} };
  const service = createService(deps, () => {}, null, { ledger, throttle, usage });
  const app = createApp(service);
  const rateLimits = [{ quota: 1_000, windowSeconds: 60 }];
  const others = function* () {
    for (let index = 0; ; index++) yield accountOf(ledger, { identifier: `k${index}`.padEnd(8, '_'), rateLimits });
  };
  const fill = () => others().forEach((account) => void spend(ledger, account));
  expect(fill).toThrow(expect.objectContaining({ code: 'busy' }));
  const request = new Request('http://h/api/lookup/uid/7', { headers: { Authorization: `Bearer ${secret}` } });
  const response = await app(openExchange(service, request, '127.0.0.1'));
  expect([response.status, response.headers.get('Retry-After')]).toEqual([503, '1']);
  expect(response.headers.get('RateLimit')).not.toBeNull();
  expect(tallies.take(10).length).toBe(1);
  closeReader(service.reader);
  closeLedger(keeper);
});
