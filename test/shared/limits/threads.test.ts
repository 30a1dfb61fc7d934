import { afterAll, describe, expect, test } from 'bun:test';
import { join } from 'node:path';
import fc from 'fast-check';
import {
  countFailure,
  createThrottleMemory,
  freeThrottleLocksOf,
  joinThrottle,
} from '../../../server/http/throttle.ts';
import { openThreadClock } from '../../../shared/clock.ts';
import type { Account } from '../../../shared/limits/account.ts';
import { openLimits } from '../../../shared/limits/one-thread.ts';
import type { RateLimit } from '../../../shared/limits/rate-limit.ts';
import { openMainThreadLimits } from '../../../shared/limits/threads/main-thread.ts';
import {
  accountCount,
  createSharedBuffers,
  HEAD,
  openSharedMemory,
  regionsOf,
} from '../../../shared/limits/threads/memory.ts';
import { emptySlot, identifierOfWords, slotOf, wordsOfIdentifier } from '../../../shared/limits/threads/table.ts';
import { joinLimits } from '../../../shared/limits/threads/worker.ts';
import { limitsTime } from '../../../shared/limits/time.ts';
import { systemRandom } from '../../../shared/random.ts';
import { fewRounds, rounds } from '../../support/rounds.ts';
import { left, use } from '../../support/storage/limits.ts';
import type { Task } from '../../support/storage/limits-worker.ts';
import { afterCrash } from '../../support/storage/quota-file.ts';
import { tempFolder, testClock } from '../../support/world.ts';

// Accounts in shared memory, compared with the same accounts in plain memory, and used by several threads at once.

const folder = tempFolder();
let files = 0;
const newPath = () => join(folder, `${++files}`, 'profiles.db');
const quiet = () => undefined;
const KEEPER = 9;

type Key = { identifier: string; rateLimits: RateLimit[] };

/** A thread with one task; it lives until this file ends or it is terminated. */
function startThread(): { run: (task: Task) => Promise<unknown>; end: () => Promise<void> } {
  const worker = new Worker(new URL('../../support/storage/limits-worker.ts', import.meta.url));
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

/** The main thread's limits with a real clock, limits that this thread has joined, and the buffers for other threads. */
async function sharedWorld(path = newPath()) {
  const buffers = createSharedBuffers();
  const clock = openThreadClock();
  const keeper = openMainThreadLimits(path, clock, quiet, KEEPER, buffers);
  const limits = joinLimits(keeper.shared, 8, clock);
  const now = limitsTime(clock, keeper.shared.timeline);
  return { path, buffers, clock, keeper, limits, shared: keeper.shared, now };
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

  test('decides as in plain memory, whatever is spent, saved, swept and restarted', () => {
    let run = 0;
    fc.assert(
      fc.property(fc.array(limits, { minLength: 3, maxLength: 3 }), fc.array(step, { maxLength: 80 }), (of, steps) => {
        run++;
        const clock = testClock();
        const keys = of.map((rateLimits, index) => ({ identifier: `k${index}x${run}`, rateLimits }));
        let paths = [newPath(), newPath()] as const;
        const open = () => {
          const keeper = openMainThreadLimits(paths[1], clock, quiet, KEEPER);
          return { plain: openLimits(paths[0], clock, quiet), keeper, worker: joinLimits(keeper.shared, 1, clock) };
        };
        let { plain, keeper, worker } = open();
        for (const { waitMs, count, key: index, what } of steps) {
          clock.advance(waitMs);
          if (what === 'save') {
            void plain.save();
            void keeper.save();
          } else if (what === 'restart') {
            // Each continues with the file of the other.
            plain.close();
            keeper.close();
            paths = [paths[1], paths[0]];
            ({ plain, keeper, worker } = open());
          } else {
            const of = keys[index] as Key;
            const [one, other] = [plain.accountOf({ ...of }), worker.accountOf({ ...of })];
            expect(worker.spend(other, count)).toBe(plain.spend(one, count));
            expect(levelsOf(other)).toEqual(levelsOf(one));
            worker.look(other);
            expect(levelsOf(other)).toEqual(levelsOf(one));
          }
        }
        plain.close();
        keeper.close();
      }),
      { numRuns: fewRounds(60) },
    );
  });
});

test('threads that spend from the same accounts at once never admit too many, and never refuse a request that fits', async () => {
  const { keeper, shared, now } = await sharedWorld();
  const short = key('AAAAAAAA', [40, 1], [10_000, 60]);
  const keys = [short, key('BBBBBBBB', [3, 1]), key('CCCCCCCC', [5_000, 3_600])];
  const threads = [1, 2, 3].map((number) => ({ number, thread: startThread() }));
  const untilMs = now() + 1_000 + rounds(1_500);
  const results = await Promise.all(
    threads.map(({ number, thread }) => thread.run({ kind: 'spend', number, shared, keys, untilMs, max: 1_000_000 })),
  );
  const admitted = (results as [key: number, before: number, after: number, count: number][][]).flat();
  const counts = keys.map((_, index) => admitted.filter(([of]) => of === index));
  for (const [index, { rateLimits }] of keys.entries()) {
    // Between the latest start and the earliest end of each request, no window has more than the quota.
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
  // Its window is longer than the whole test.
  expect(sums[2]).toBe(5_000);
  keeper.close();
}, 20_000);

describe('a thread that is terminated', () => {
  test('while it holds the lock of an account or the table does not block others once its locks are freed', async () => {
    const { path, buffers, clock, keeper, limits, shared } = await sharedWorld();
    const one = key('AAAAAAAA', [5, 3_600]);
    expect(use(limits, { ...one }, 2)).toBeNull();
    const memory = openSharedMemory(buffers, KEEPER);
    const inFile = (of: Key) => {
      const file = openLimits(afterCrash(path), clock, quiet);
      const [remaining] = left(file, { ...of });
      file.close();
      return remaining;
    };
    const [region = 0] = regionsOf(memory);
    let remaining = 3;
    for (const at of [region + HEAD.lock, 0]) {
      const dead = startThread();
      await dead.run({ kind: 'hold', number: 4, shared, at });
      await dead.end();
      // The main thread, which has to free them, is not blocked: it saves locked accounts the next time.
      await keeper.save();
      await keeper.save();
      const waiting = startThread();
      const keys = [key('BBBBBBBB', [9, 3_600]), one];
      const waited = waiting.run({ kind: 'spend', number: 5, shared, keys, untilMs: Infinity, max: 2 });
      // The locks of other threads stay.
      keeper.freeLocksOf(3);
      expect(Atomics.load(memory.words, at)).toBe(4);
      keeper.freeLocksOf(4);
      expect(((await waited) as unknown[]).length).toBe(2);
      await keeper.save();
      expect(inFile(one)).toBe(--remaining);
      await waiting.end();
    }
    keeper.close();
  }, 20_000);

  test('while it holds the table’s lock delays a restore from the file until that lock is freed', async () => {
    const path = newPath();
    const one = key('AAAAAAAA', [5, 3_600]);
    const clock = openThreadClock();
    const before = openLimits(path, clock, quiet);
    use(before, { ...one }, 3);
    before.close();
    const buffers = createSharedBuffers();
    new Int32Array(buffers.arena)[0] = 4;
    const reports: string[] = [];
    const report = (_level: string, sentence: string) => void reports.push(sentence);
    const keeper = openMainThreadLimits(path, clock, report, KEEPER, buffers);
    await keeper.save();
    expect(accountCount(openSharedMemory(buffers, KEEPER))).toBe(0);
    keeper.freeLocksOf(4);
    await keeper.save();
    expect(left(joinLimits(keeper.shared, 1, clock), { ...one })).toEqual([2]);
    expect(reports).toEqual([]);
    keeper.close();
    const after = openLimits(path, clock, quiet);
    expect(left(after, { ...one })).toEqual([2]);
    after.close();
  });

  test('at any moment leaves accounts that are exact except for the request in flight', async () => {
    const { keeper, limits, shared } = await sharedWorld();
    const keys = [key('AAAAAAAA', [1_000_000, 3_600], [500_000, 86_400]), key('BBBBBBBB', [50, 3_600])] as const;
    for (let turn = 0; turn < rounds(12); turn++) {
      const thread = startThread();
      // This gets no response, because the thread is terminated meanwhile.
      void thread.run({ kind: 'spend', number: 1, shared, keys: [...keys], untilMs: Infinity, max: Infinity });
      const [first] = left(limits, keys[0]);
      while (left(limits, keys[0])[0] === first) await Bun.sleep(1);
      await thread.end();
      keeper.freeLocksOf(1);
      const used = left(limits, keys[0]).map((remaining, index) => (keys[0].rateLimits[index]?.quota ?? 0) - remaining);
      // At most the request in flight is counted in one limit and not in the other.
      expect(Math.abs((used[0] ?? 0) - (used[1] ?? 0))).toBeLessThanOrEqual(3);
      expect(left(limits, keys[1])[0]).toBeGreaterThanOrEqual(0);
      expect(use(limits, keys[1], 51)).toBe(Number.POSITIVE_INFINITY);
    }
    keeper.close();
  }, 20_000);
});

describe('memory', () => {
  test('unused accounts make room; if there is none, a key’s request is refused with `busy`', async () => {
    const clock = testClock();
    const buffers = createSharedBuffers(2 ** 20);
    const memory = openSharedMemory(buffers, KEEPER);
    const keeper = openMainThreadLimits(newPath(), clock, quiet, KEEPER, buffers);
    const worker = joinLimits(keeper.shared, 1, clock);
    const brief = (index: number) => key(`k${index}`.padEnd(8, '_'), [1_000, 60]);
    const fill = (from: number) => {
      for (let index = from; ; index++) {
        try {
          expect(use(worker, brief(index))).toBeNull();
        } catch (error) {
          expect(error).toMatchObject({ code: 'busy' });
          return index - from;
        }
      }
    };
    const room = fill(0);
    expect(room).toBeGreaterThan(200);
    expect(accountCount(memory)).toBe(room);
    // Other keys work as usual.
    expect(use(worker, brief(0), 999)).toBeNull();
    clock.advance(60_001);
    await keeper.save();
    expect(accountCount(memory)).toBe(0);
    expect(fill(1_000_000)).toBe(room);
    // A key that this thread has used before finds that its account was replaced, and that there is no room.
    expect(() => use(worker, brief(0))).toThrow('no memory left');
    clock.advance(60_001);
    await keeper.save();
    expect(use(worker, brief(0), 1_000)).toBeNull();
    expect(accountCount(memory)).toBe(1);
    keeper.close();
  });
});

describe('the throttle of all threads', () => {
  test('counts the failures of an IP address in all threads: 30 pass, all others are refused', async () => {
    const { keeper, shared } = await sharedWorld();
    const throttle = createThrottleMemory(systemRandom);
    const blocks = ['192.0.2.1', '192.0.2.2', '2001:db8:0:1::/64'];
    const threads = [1, 2, 3].map((number) => ({ number, thread: startThread() }));
    const refused = await Promise.all(
      threads.map(({ number, thread }) => thread.run({ kind: 'fail', number, shared, throttle, blocks, times: 20 })),
    );
    expect((refused as number[]).reduce((sum, count) => sum + count, 0)).toBe(3 * (60 - 30));
    keeper.close();
  }, 20_000);

  test('remembers a bounded number of IP addresses; the one that failed longest ago makes room', () => {
    const clock = testClock();
    const memory = createThrottleMemory(systemRandom, 1);
    const throttle = joinThrottle(memory, 1, clock);
    const isRefused = (block: string) => {
      try {
        countFailure(throttle, block);
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
    // A dead thread's lock would block the next failure.
    new Int32Array(memory)[0] = 2;
    freeThrottleLocksOf(memory, 2);
    expect(isRefused('first')).toBe(false);
  });
});

test('the table finds each identifier that was added and not removed, in any order', () => {
  const identifier = fc.integer({ min: 0, max: 40 }).map((number) => `id${number}`.padEnd(8, '_'));
  const step = fc.tuple(fc.constantFrom('put', 'put', 'take'), identifier);
  fc.assert(
    fc.property(fc.array(step, { maxLength: 200, size: 'max' }), (steps) => {
      // Sixteen slots, of which at most twelve are used.
      const slots = new Int32Array(16 * 3);
      const model = new Map<string, number>();
      for (const [index, [what, text]] of steps.entries()) {
        const [first, second] = wordsOfIdentifier(text);
        const slot = slotOf(slots, first, second);
        expect(slots[slot] === 0 ? undefined : slots[slot + 2]).toBe(model.get(text));
        if (what === 'put' && (model.has(text) || model.size < 12)) {
          slots.set([first, second, index + 1], slot);
          model.set(text, index + 1);
        } else if (what === 'take' && model.delete(text)) emptySlot(slots, slot);
      }
      for (const [text, value] of model) {
        expect(slots[slotOf(slots, ...wordsOfIdentifier(text)) + 2]).toBe(value);
        expect(identifierOfWords(...wordsOfIdentifier(text))).toBe(text);
      }
    }),
  );
});
