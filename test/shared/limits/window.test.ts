import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { openLimits } from '../../../shared/limits/limits.ts';
import type { RateLimit } from '../../../shared/limits/rate-limit.ts';
import { readStored } from '../../../shared/limits/stored.ts';
import { expire, newWindow, noteLevel, record, TICK_MS, type Window, waitMs } from '../../../shared/limits/window.ts';
import { rounds } from '../../support/rounds.ts';
import { memoryDatabase, saveTo } from '../../support/storage.ts';
import { testClock } from '../../support/world.ts';

// One limit, compared with a naive record of all requests, over saves and restarts.

type Step = { kind: 'wait'; ms: number } | { kind: 'spend'; count: number } | { kind: 'save' | 'restart' };

const IDENTIFIER = 'k7Qm2XaB';

/** Bursts, waits of about the window's length to a tick, saves and restarts. */
function stepsFor({ quota, windowSeconds }: RateLimit): fc.Arbitrary<Step[]> {
  const windowMs = windowSeconds * 1000;
  const wait = fc.oneof(
    fc.constantFrom(windowMs, windowMs - TICK_MS, windowMs + TICK_MS, windowMs / quota, 0, TICK_MS),
    fc.double({ min: 0, max: 1.2 * windowMs, noNaN: true }),
  );
  const spend = fc.oneof(
    { weight: 4, arbitrary: fc.constant(1) },
    { weight: 2, arbitrary: fc.integer({ min: 1, max: quota }) },
    { weight: 1, arbitrary: fc.constantFrom(quota, quota + 1) },
  );
  return fc.array(
    fc.oneof(
      { weight: 4, arbitrary: wait.map((ms): Step => ({ kind: 'wait', ms: Math.floor(ms / TICK_MS) * TICK_MS })) },
      { weight: 8, arbitrary: spend.map((count): Step => ({ kind: 'spend', count })) },
      { weight: 1, arbitrary: fc.constantFrom<Step[]>({ kind: 'save' }, { kind: 'restart' }) },
    ),
    { maxLength: 150, size: 'max' },
  );
}

type Decision = { window: Window; now: number; count: number; wait: number | null; left: number };

/** Runs the steps; `judge` sees each decision, with what was left before it. Returns the times of all admitted requests. */
function run(limit: RateLimit, steps: Step[], judge: (decision: Decision) => void): number[] {
  const clock = testClock();
  const startMs = clock.nowMs();
  using sqlite = memoryDatabase();
  let limits = openLimits(clock, readStored(sqlite));
  const key = { identifier: IDENTIFIER, rateLimits: [limit] };
  const times: number[] = [];
  for (const step of steps) {
    if (step.kind === 'wait') clock.advance(step.ms);
    else if (step.kind !== 'spend') {
      saveTo(sqlite, limits);
      if (step.kind === 'save') continue;
      // Wall time, which a new process begins with, has whole milliseconds.
      clock.advance(Math.ceil(clock.monotonicMs()) - clock.monotonicMs());
      limits = openLimits(clock, readStored(sqlite));
    } else {
      const { count } = step;
      const now = startMs + clock.monotonicMs();
      const used = times.filter((time) => now - time <= limit.windowSeconds * 1000).length;
      const account = limits.accountOf(key);
      const wait = limits.spend(account, count);
      judge({ window: account.windows[0] as Window, now, count, wait, left: limit.quota - used });
      if (wait === null) for (let turn = 0; turn < count; turn++) times.push(now);
    }
  }
  return times;
}

/** How many more requests fit at a time. */
function roomAt(window: Window, now: number): number {
  const copy = structuredClone(window);
  expire(copy, now);
  return Math.max(0, copy.quota - copy.used);
}

const small = fc.record({ quota: fc.integer({ min: 1, max: 70 }), windowSeconds: fc.integer({ min: 1, max: 90 }) });
const anyWindow = fc.record({
  quota: fc.integer({ min: 1, max: 9 }),
  windowSeconds: fc.constantFrom(2_098, 86_400, 31 * 86_400),
});
const exact = fc.record({
  quota: fc.oneof(fc.integer({ min: 1, max: 20 }), fc.integer({ min: 1, max: 1_024 }), fc.constantFrom(1_023, 1_024)),
  windowSeconds: fc.constantFrom(1, 60, 3_600, 86_400, 31 * 86_400),
});
const grouped = fc.record({
  quota: fc.oneof(fc.integer({ min: 1_025, max: 9_000 }), fc.constantFrom(1_025, 2_048, 2_049, 5_000)),
  windowSeconds: fc.constantFrom(1, 60, 86_400),
});

const withSteps = (limits: fc.Arbitrary<RateLimit>) =>
  limits.chain((limit) => fc.tuple(fc.constant(limit), stepsFor(limit)));

describe('admission', () => {
  test('up to a quota of 1024, a request is admitted exactly if it fits, even over restarts', () => {
    fc.assert(
      fc.property(withSteps(exact), ([limit, steps]) => {
        run(limit, steps, ({ window, count, wait, left }) => {
          expect(wait === null).toBe(count <= left);
          expect(window.remaining).toBe(wait === null ? left - count : left);
        });
      }),
      { numRuns: rounds(75) },
    );
  });

  test('above a quota of 1024, never too many are admitted, and less than 0.1% of the quota is refused too early', () => {
    fc.assert(
      fc.property(withSteps(grouped), ([limit, steps]) => {
        run(limit, steps, ({ window, count, wait, left }) => {
          if (count > left) expect(wait).not.toBeNull();
          if (wait !== null) expect(count).toBeGreaterThan(left - limit.quota / 1_000);
          const really = wait === null ? left - count : left;
          expect(window.remaining).toBeLessThanOrEqual(really);
          expect(window.remaining).toBeGreaterThan(really - limit.quota / 1_000);
        });
      }),
      { numRuns: rounds(15) },
    );
  });

  test('no window of its length, wherever it starts, has more admitted requests than the quota', () => {
    fc.assert(
      fc.property(withSteps(fc.oneof(small, anyWindow)), ([limit, steps]) => {
        const times = run(limit, steps, () => undefined);
        for (let first = 0; first + limit.quota < times.length; first++) {
          const span = (times[first + limit.quota] as number) - (times[first] as number);
          expect(span).toBeGreaterThan(limit.windowSeconds * 1000);
        }
      }),
      { numRuns: rounds(75) },
    );
  });

  test('a retry is admitted after the wait, and not a tick earlier', () => {
    fc.assert(
      fc.property(withSteps(fc.oneof(small, anyWindow, grouped)), ([limit, steps]) => {
        run(limit, steps, ({ window, now, count, wait }) => {
          if (wait === null) return;
          expect(wait).toBe(waitMs(window, now, count));
          if (count > limit.quota) {
            expect(wait).toBe(Number.POSITIVE_INFINITY);
            return;
          }
          expect(roomAt(window, now + wait)).toBeGreaterThanOrEqual(count);
          expect(roomAt(window, now + wait - TICK_MS)).toBeLessThan(count);
        });
      }),
      { numRuns: rounds(50) },
    );
  });

  test('the remaining quota (r) stays the same until the end of its window (t)', () => {
    fc.assert(
      fc.property(withSteps(fc.oneof(small, anyWindow, grouped)), ([limit, steps]) => {
        run(limit, steps, ({ window, now }) => {
          const { remaining, resetSeconds } = window;
          expect(Number.isInteger(resetSeconds) && resetSeconds >= 0 && resetSeconds <= limit.windowSeconds).toBe(true);
          const later = structuredClone(window);
          noteLevel(later, now + resetSeconds * 1000);
          expect(later.remaining).toBe(remaining);
        });
      }),
      { numRuns: rounds(50) },
    );
  });
});

test('a window has at most 2048 groups, however large its quota', () => {
  for (const quota of [1, 60, 1_024, 1_025, 5_000, 1_000_000]) {
    const window = newWindow({ quota, windowSeconds: 60 });
    let most = 0;
    for (let turn = 0; turn < 20_000; turn++) {
      expire(window, turn);
      if (window.used + 9 <= quota) record(window, turn, 1 + (turn % 9));
      most = Math.max(most, window.times.length - window.first);
    }
    expect(most).toBeLessThanOrEqual(2_048);
  }
});
