import { afterAll, describe, expect, test } from 'bun:test';
import { join } from 'node:path';
import fc from 'fast-check';
import { createThrottleMemory, freeThrottleLocksOf, joinThrottle } from '../../../server/throttle.ts';
import { openThreadClock } from '../../../shared/clock.ts';
import {
  accountCount,
  createSharedBuffers,
  freeLocksOf,
  HEAD,
  openAccountMemory,
  regionsOf,
} from '../../../shared/keys/account-memory.ts';
import { emptyPlace, identifierOfWords, placeOf, wordsOfIdentifier } from '../../../shared/keys/account-table.ts';
import type { Account } from '../../../shared/keys/quota-account.ts';
import { closeLedger, saveLedger } from '../../../shared/keys/quota-file.ts';
import { accountOf, joinLedger, look, openLedger, spend } from '../../../shared/keys/quota-ledger.ts';
import type { RateLimit } from '../../../shared/keys/rate-limit.ts';
import { systemRandom } from '../../../shared/keys/secret.ts';
import type { Task } from '../../support/quota-worker.ts';
import { tempFolder, testClock } from '../../support/world.ts';

// Accounts in shared memory: against the same accounts in plain memory, and spent from by several threads at once.

const folder = tempFolder();
let files = 0;
const newPath = () => join(folder, `${++files}`, 'profiles.db');
const quiet = () => undefined;
const KEEPER = 9;

type Key = { identifier: string; rateLimits: RateLimit[] };

/** A thread that does one task; it lives until the file is done, or is ended. */
function startThread(): { run: (task: Task) => Promise<unknown>; end: () => Promise<void> } {
  const worker = new Worker(new URL('../../support/quota-worker.ts', import.meta.url));
  const closed = Promise.withResolvers<void>();
  worker.addEventListener('close', () => closed.resolve());
  afterAll(() => worker.terminate());
  return {
    run: (task) => {
      const { promise, resolve, reject } = Promise.withResolvers<unknown>();
      worker.onmessage = ({ data }) => resolve(data);
      worker.onerror = ({ message }) => reject(new Error(message));
      worker.postMessage(task);
      return promise;
    },
    end: async () => {
      worker.terminate();
      await closed.promise;
    },
  };
}

/** A keeper's ledger on a real clock, and what threads need to join it. */
async function sharedWorld(path = newPath(), maxBytes?: number) {
  const buffers = createSharedBuffers(maxBytes);
  const memory = openAccountMemory(buffers, KEEPER, 20);
  const clock = await openThreadClock();
  const ledger = openLedger(path, clock, quiet, memory);
  return { path, buffers, memory, clock, ledger, timeline: ledger.timeline };
}

const key = (identifier: string, ...limits: [quota: number, windowSeconds: number][]): Key => ({
  identifier,
  rateLimits: limits.map(([quota, windowSeconds]) => ({ quota, windowSeconds })),
});

const levelsOf = ({ rings }: Account) => rings.map(({ remaining, resetSeconds }) => ({ remaining, resetSeconds }));

describe('one thread', () => {
  const limit = fc.record({
    quota: fc.oneof(fc.integer({ min: 1, max: 40 }), fc.constantFrom(1_024, 2_000)),
    windowSeconds: fc.constantFrom(1, 2, 3, 60),
  });
  const limits = fc.uniqueArray(limit, { minLength: 1, maxLength: 4, selector: ({ windowSeconds }) => windowSeconds });
  const step = fc.record({
    waitMs: fc.oneof(fc.constantFrom(0, 1 / 1024, 1_000, 60_000.5), fc.double({ min: 0, max: 3_000, noNaN: true })),
    count: fc.oneof(fc.constant(1), fc.integer({ min: 1, max: 41 })),
    key: fc.nat(2),
    what: fc.constantFrom('spend', 'spend', 'spend', 'spend', 'save', 'restart' as const),
  });

  test('decides as in plain memory, whatever is spent, saved, swept and restarted in either way', () => {
    let run = 0;
    fc.assert(
      fc.property(fc.array(limits, { minLength: 3, maxLength: 3 }), fc.array(step, { maxLength: 80 }), (of, steps) => {
        run++;
        const clock = testClock();
        const keys = of.map((rateLimits, index) => ({ identifier: `k${index}x${run}`, rateLimits }));
        let paths = [newPath(), newPath()] as const;
        const open = () => {
          const buffers = createSharedBuffers();
          const shared = openLedger(paths[1], clock, quiet, openAccountMemory(buffers, KEEPER));
          const worker = joinLedger(clock, shared.timeline, openAccountMemory(buffers, 1), quiet);
          return { plain: openLedger(paths[0], clock, quiet), shared, worker };
        };
        let { plain, shared, worker } = open();
        for (const { waitMs, count, key: index, what } of steps) {
          clock.advance(waitMs);
          if (what === 'save') {
            saveLedger(plain);
            saveLedger(shared);
          } else if (what === 'restart') {
            // Each goes on with what the other has written.
            closeLedger(plain);
            closeLedger(shared);
            paths = [paths[1], paths[0]];
            ({ plain, shared, worker } = open());
          } else {
            const of = keys[index] as Key;
            const [one, other] = [accountOf(plain, of), accountOf(worker, of)];
            expect(spend(worker, other, count, count + 1)).toBe(spend(plain, one, count, count + 1));
            expect(levelsOf(other)).toEqual(levelsOf(one));
            look(worker, other);
            expect(levelsOf(other)).toEqual(levelsOf(one));
          }
        }
        closeLedger(plain);
        closeLedger(shared);
      }),
      { numRuns: 60 },
    );
  });
});

test('threads that spend from the same accounts at once: never one too many, and none refused that fits', async () => {
  const { buffers, ledger, timeline } = await sharedWorld();
  const short = key('AAAAAAAA', [40, 1], [10_000, 60]);
  const keys = [short, key('BBBBBBBB', [3, 1]), key('CCCCCCCC', [5_000, 3_600])];
  const threads = [1, 2, 3].map((number) => ({ number, thread: startThread() }));
  const untilMs = ledger.now() + 2_500;
  const results = await Promise.all(
    threads.map(({ number, thread }) =>
      thread.run({ kind: 'spend', number, buffers, timeline, keys, untilMs, most: 1_000_000 }),
    ),
  );
  const admitted = (results as [key: number, before: number, after: number, count: number][][]).flat();
  const counts = keys.map((_, index) => admitted.filter(([of]) => of === index));
  for (const [index, { rateLimits }] of keys.entries()) {
    // By when each had surely begun, and by when it was surely over: in no window are more than the quota.
    const of = counts[index] ?? [];
    const { quota, windowSeconds } = rateLimits[0] as RateLimit;
    for (const [, start] of of.slice(0, 200)) {
      const inside = of.filter(([, before, after]) => before >= start && after <= start + windowSeconds * 1000);
      expect(inside.reduce((sum, [, , , count]) => sum + count, 0)).toBeLessThanOrEqual(quota);
    }
  }
  const sums = counts.map((of) => of.reduce((sum, [, , , count]) => sum + count, 0));
  expect(sums[0]).toBeGreaterThanOrEqual(40);
  expect(sums[1]).toBeGreaterThanOrEqual(3);
  // Its window is longer than all of this.
  expect(sums[2]).toBe(5_000);
  closeLedger(ledger);
}, 20_000);

describe('a thread that ends', () => {
  test('while it holds an account or the table holds nobody up once its locks are freed', async () => {
    const { buffers, ledger, memory, timeline } = await sharedWorld();
    const one = key('AAAAAAAA', [5, 3_600]);
    expect(spend(ledger, accountOf(ledger, one), 2)).toBeNull();
    const [region = 0] = regionsOf(memory);
    for (const at of [region + HEAD.lock, 0]) {
      const dead = startThread();
      await dead.run({ kind: 'hold', number: 4, buffers, timeline, at });
      await dead.end();
      // The keeper, who has to free them, is not held up: what it can't read is written the next time.
      if (at !== 0) expect([saveLedger(ledger), saveLedger(ledger)]).toEqual([0, 0]);
      const waiting = startThread();
      const keys = [key('BBBBBBBB', [9, 3_600]), one];
      const waited = waiting.run({ kind: 'spend', number: 5, buffers, timeline, keys, untilMs: Infinity, most: 2 });
      // Others' locks stay.
      freeLocksOf(memory, 3);
      expect(Atomics.load(memory.words, at)).toBe(4);
      freeLocksOf(memory, 4);
      expect(((await waited) as unknown[]).length).toBe(2);
      expect(saveLedger(ledger)).toBe(2);
      await waiting.end();
    }
    closeLedger(ledger);
  }, 20_000);

  test('while it holds the table as the file appears: what the file has comes in once that lock is freed', async () => {
    const path = newPath();
    const one = key('AAAAAAAA', [5, 3_600]);
    const before = openLedger(path, await openThreadClock(), quiet);
    spend(before, accountOf(before, one), 3);
    closeLedger(before);
    const buffers = createSharedBuffers();
    new Int32Array(buffers.arena)[0] = 4;
    const reports: string[] = [];
    const memory = openAccountMemory(buffers, KEEPER, 2);
    const ledger = openLedger(path, await openThreadClock(), (_level, sentence) => void reports.push(sentence), memory);
    expect([saveLedger(ledger), ledger.late.size, accountCount(memory)]).toEqual([0, 1, 0]);
    freeLocksOf(memory, 4);
    saveLedger(ledger);
    const account = accountOf(ledger, one);
    look(ledger, account);
    expect(account.rings[0]?.remaining).toBe(2);
    expect(reports).toEqual([]);
    closeLedger(ledger);
    const after = openLedger(path, await openThreadClock(), quiet);
    expect(accountOf(after, one).rings[0]?.head).toBe(3);
    closeLedger(after);
  });

  test('at any instant, again and again, leaves accounts that are exact to what was in flight', async () => {
    const { buffers, ledger, memory, timeline } = await sharedWorld();
    const keys = [key('AAAAAAAA', [1_000_000, 3_600], [500_000, 86_400]), key('BBBBBBBB', [50, 3_600])];
    for (let turn = 0; turn < 12; turn++) {
      const thread = startThread();
      // Never answered: it is ended in the midst of it.
      void thread.run({ kind: 'spend', number: 1, buffers, timeline, keys, untilMs: Infinity, most: Infinity });
      const before = accountOf(ledger, keys[0] as Key);
      look(ledger, before);
      const first = before.rings[0]?.remaining ?? 0;
      while (before.rings[0]?.remaining === first) {
        await Bun.sleep(1);
        look(ledger, before);
      }
      await thread.end();
      freeLocksOf(memory, 1);
      look(ledger, before);
      const used = before.rings.map(({ quota, remaining }) => quota - remaining);
      // At most the one request that it was in the midst of is counted in one limit and not in the other.
      expect(Math.abs((used[0] ?? 0) - (used[1] ?? 0))).toBeLessThanOrEqual(3);
      const second = accountOf(ledger, keys[1] as Key);
      look(ledger, second);
      expect(second.rings[0]?.remaining).toBeGreaterThanOrEqual(0);
      expect(spend(ledger, second, 51)).toBe(Number.POSITIVE_INFINITY);
    }
    closeLedger(ledger);
  }, 20_000);
});

describe('memory', () => {
  test('accounts that are as good as new make room; where there is none, a key is told to come back', () => {
    const clock = testClock();
    const buffers = createSharedBuffers(2 ** 20);
    const memory = openAccountMemory(buffers, KEEPER);
    const ledger = openLedger(newPath(), clock, quiet, memory);
    const worker = joinLedger(clock, ledger.timeline, openAccountMemory(buffers, 1), quiet);
    const brief = (index: number) => key(`k${index}`.padEnd(8, '_'), [1_000, 60]);
    const fill = (from: number) => {
      for (let index = from; ; index++) {
        try {
          expect(spend(worker, accountOf(worker, brief(index)))).toBeNull();
        } catch (error) {
          expect(error).toMatchObject({ code: 'busy' });
          return index - from;
        }
      }
    };
    const room = fill(0);
    expect(room).toBeGreaterThan(200);
    expect(accountCount(memory)).toBe(room);
    // The others are served as ever.
    expect(spend(worker, accountOf(worker, brief(0)), 999)).toBeNull();
    clock.advance(60_001);
    saveLedger(ledger);
    expect(accountCount(memory)).toBe(0);
    expect(fill(1_000_000)).toBe(room);
    // One that this thread had met before finds its account given to another, and none free.
    expect(() => spend(worker, accountOf(worker, brief(0)))).toThrow('no memory left');
    clock.advance(60_001);
    saveLedger(ledger);
    expect(spend(worker, accountOf(worker, brief(0)), 1_000)).toBeNull();
    expect(accountCount(memory)).toBe(1);
    closeLedger(ledger);
  });

  test('a key whose limits were changed while the server was stopped goes on in those that are the same', () => {
    const clock = testClock();
    const path = newPath();
    const before = openLedger(path, clock, quiet);
    spend(before, accountOf(before, key('AAAAAAAA', [10, 60], [100, 3_600])), 4);
    closeLedger(before);
    const buffers = createSharedBuffers();
    const ledger = openLedger(path, clock, quiet, openAccountMemory(buffers, KEEPER));
    const account = accountOf(ledger, key('AAAAAAAA', [100, 3_600], [5, 60]));
    look(ledger, account);
    expect(account.rings.map(({ remaining }) => remaining)).toEqual([96, 5]);
    expect(spend(ledger, account, 5)).toBeNull();
    closeLedger(ledger);
    const after = openLedger(path, clock, quiet);
    const again = accountOf(after, key('AAAAAAAA', [100, 3_600], [5, 60]));
    look(after, again);
    expect(again.rings.map(({ remaining }) => remaining)).toEqual([91, 0]);
    closeLedger(after);
  });
});

describe('the throttle of all threads', () => {
  test('counts failures of an address over all of them: thirty pass, every further one is refused', async () => {
    const { buffers, ledger, timeline } = await sharedWorld();
    const throttle = createThrottleMemory(systemRandom);
    const blocks = ['192.0.2.1', '192.0.2.2', '2001:db8:0:1::/64'];
    const threads = [1, 2, 3].map((number) => ({ number, thread: startThread() }));
    const refused = await Promise.all(
      threads.map(({ number, thread }) =>
        thread.run({ kind: 'fail', number, buffers, timeline, throttle, blocks, times: 20 }),
      ),
    );
    expect((refused as number[]).reduce((sum, count) => sum + count, 0)).toBe(3 * (60 - 30));
    closeLedger(ledger);
  }, 20_000);

  test('remembers as many addresses as it has places, the one that failed longest ago makes room', () => {
    const clock = testClock();
    const memory = createThrottleMemory(systemRandom, 1);
    const throttle = joinThrottle(memory, 1, clock);
    const isRefused = (block: string) => {
      try {
        throttle.count(block);
        return false;
      } catch {
        return true;
      }
    };
    const others = (from: number, count: number) => {
      for (let index = from; index < from + count; index++) {
        clock.advance(1);
        expect(isRefused(`other ${index}`)).toBe(false);
      }
      clock.advance(1);
    };
    clock.advance(1);
    for (let turn = 0; turn < 30; turn++) expect(isRefused('first')).toBe(false);
    others(0, 31);
    expect(isRefused('first')).toBe(true);
    others(31, 31);
    expect(isRefused('first')).toBe(true);
    others(62, 32);
    for (let turn = 0; turn < 30; turn++) expect(isRefused('first')).toBe(false);
    expect(isRefused('first')).toBe(true);
    clock.advance(60_001);
    // A dead thread's lock would hold up whoever fails next.
    new Int32Array(memory)[0] = 2;
    freeThrottleLocksOf(memory, 2);
    expect(isRefused('first')).toBe(false);
  });
});

test('the table finds each identifier that was put in and not taken out, in any order of both', () => {
  const identifier = fc.integer({ min: 0, max: 40 }).map((number) => `id${number}`.padEnd(8, '_'));
  const step = fc.tuple(fc.constantFrom('put', 'put', 'take'), identifier);
  fc.assert(
    fc.property(fc.array(step, { maxLength: 200, size: 'max' }), (steps) => {
      // Sixteen places, of which twelve are used at most.
      const places = new Int32Array(16 * 3);
      const model = new Map<string, number>();
      for (const [index, [what, text]] of steps.entries()) {
        const [first, second] = wordsOfIdentifier(text);
        const place = placeOf(places, first, second);
        expect(places[place] === 0 ? undefined : places[place + 2]).toBe(model.get(text));
        if (what === 'put' && (model.has(text) || model.size < 12)) {
          places.set([first, second, index + 1], place);
          model.set(text, index + 1);
        } else if (what === 'take' && model.delete(text)) emptyPlace(places, place);
      }
      for (const [text, value] of model) {
        expect(places[placeOf(places, ...wordsOfIdentifier(text)) + 2]).toBe(value);
        expect(identifierOfWords(...wordsOfIdentifier(text))).toBe(text);
      }
    }),
  );
});
