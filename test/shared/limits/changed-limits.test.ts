import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { openLimits } from '../../../shared/limits/limits.ts';
import type { RateLimit } from '../../../shared/limits/rate-limit.ts';
import { readStored } from '../../../shared/limits/stored.ts';
import { rounds } from '../../support/rounds.ts';
import { memoryDatabase, saveTo, use } from '../../support/storage.ts';
import { testClock } from '../../support/world.ts';

// Spent requests still count after a change of a key's limits, compared with a naive record of all requests.

const IDENTIFIER = 'k7Qm2XaB';

type Step =
  | { kind: 'wait'; ms: number }
  | { kind: 'spend'; count: number }
  | { kind: 'change'; limits: RateLimit[] }
  | { kind: 'save' | 'restart' };

const WINDOWS = [1, 5, 60, 3_600];

/** Limits, and steps that spend or change them. */
function histories(quotas: fc.Arbitrary<number>, mostAtOnce: number) {
  const limit = fc.record({ quota: quotas, windowSeconds: fc.constantFrom(...WINDOWS) });
  const limits = fc.uniqueArray(limit, { minLength: 1, maxLength: 4, selector: ({ windowSeconds }) => windowSeconds });
  const wait = fc.oneof(fc.constantFrom(0, 1 / 1024, 1_000, 5_000.5), fc.double({ min: 0, max: 4_000, noNaN: true }));
  const step = fc.oneof(
    { weight: 4, arbitrary: wait.map((ms): Step => ({ kind: 'wait', ms })) },
    {
      weight: 8,
      arbitrary: fc
        .oneof(fc.constant(1), fc.integer({ min: 1, max: mostAtOnce }))
        .map((count): Step => ({ kind: 'spend', count })),
    },
    { weight: 2, arbitrary: limits.map((changed): Step => ({ kind: 'change', limits: changed })) },
    {
      weight: 2,
      arbitrary: fc.constantFrom<Step[]>({ kind: 'save' }, { kind: 'restart' }),
    },
  );
  return fc.tuple(limits, fc.array(step, { maxLength: 120, size: 'max' }));
}

const exact = histories(fc.integer({ min: 1, max: 60 }), 40);
const grouped = histories(fc.oneof(fc.integer({ min: 1, max: 40 }), fc.integer({ min: 1_025, max: 9_000 })), 3_000);

/** The times of all requests that count in each window. */
function createModel() {
  const times = new Map<number, number[]>();
  const usedAt = (now: number, windowSeconds: number) =>
    (times.get(windowSeconds) ?? []).filter((time) => now - time <= windowSeconds * 1_000).length;
  return {
    /** How many more requests fit into all these limits. */
    roomAt: (now: number, limits: readonly RateLimit[]) =>
      Math.min(...limits.map(({ quota, windowSeconds }) => quota - usedAt(now, windowSeconds))),
    /** Forgets the windows that none of these limits has. */
    keep: (limits: readonly RateLimit[]) => {
      for (const length of times.keys())
        if (limits.every(({ windowSeconds }) => windowSeconds !== length)) times.delete(length);
    },
    add: (now: number, limits: readonly RateLimit[], count: number) => {
      for (const { windowSeconds } of limits) {
        times.set(windowSeconds, [...(times.get(windowSeconds) ?? []), ...Array(count).fill(now)]);
      }
    },
  };
}

/** Whether the number of admitted requests is allowed. */
type Judge = (decision: { admitted: boolean; room: number; count: number }) => void;

function run(first: RateLimit[], steps: Step[], judge: Judge): void {
  const clock = testClock();
  const model = createModel();
  using sqlite = memoryDatabase();
  let limits = openLimits(clock, readStored(sqlite));
  let rateLimits = first;
  for (const step of steps) {
    if (step.kind === 'wait') clock.advance(Math.floor(step.ms * 1024) / 1024);
    else if (step.kind === 'change') {
      rateLimits = step.limits;
      limits.accountOf({ identifier: IDENTIFIER, rateLimits });
      model.keep(rateLimits);
    } else if (step.kind === 'spend') {
      const now = clock.monotonicMs();
      const room = model.roomAt(now, rateLimits);
      const admitted = use(limits, { identifier: IDENTIFIER, rateLimits }, step.count) === null;
      if (admitted) model.add(now, rateLimits, step.count);
      judge({ admitted, room, count: step.count });
    } else {
      saveTo(sqlite, limits);
      if (step.kind === 'save') continue;
      // Wall time, which a new process begins with, has whole milliseconds.
      clock.advance(Math.ceil(clock.monotonicMs()) - clock.monotonicMs());
      limits = openLimits(clock, readStored(sqlite));
    }
  }
}

describe('changed limits', () => {
  test('keep requests in windows that stay, over saves and crashes: a request is admitted exactly if it fits', () => {
    fc.assert(
      fc.property(exact, ([first, steps]) => {
        run(first, steps, ({ admitted, room, count }) => expect(admitted).toBe(count <= room));
      }),
      { numRuns: rounds(10) },
    );
  }, 60_000);

  test('from or to quotas above 1024 never admit too many, and refuse at most 0.1% of the largest quota too early', () => {
    fc.assert(
      fc.property(grouped, ([first, steps]) => {
        run(first, steps, ({ admitted, room, count }) => {
          if (count > room) expect(admitted).toBe(false);
          else if (!admitted) expect(room - count).toBeLessThan(2 * Math.ceil(9_000 / 1_024));
        });
      }),
      { numRuns: rounds(5) },
    );
  }, 60_000);
});
