import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { type LogRow, readRow, rowsOf, type SavedAccount } from '../../../shared/limits/file/row.ts';
import type { RateLimit } from '../../../shared/limits/rate-limit.ts';
import {
  createRing,
  quantise,
  type Ring,
  record,
  remainingAt,
  resetSeconds,
  retryAfterSeconds,
  ringLength,
  waitMs,
} from '../../../shared/limits/ring.ts';
import { rounds } from '../../support/rounds.ts';

/** A naive model: it remembers the time of every admitted request. */
function createModel({ quota, windowSeconds }: RateLimit, stepMs: number) {
  const times: number[] = [];
  const stepOf = (time: number) => Math.floor(time / stepMs) * stepMs;
  const usedAt = (now: number) => times.filter((time) => stepOf(now) - stepOf(time) <= windowSeconds * 1000).length;
  return { times, remainingAt: (now: number) => quota - usedAt(now) };
}

/** A file: each save adds a row with the new requests, or with the whole ring, which makes earlier rows unnecessary. */
function createFile() {
  let rows: LogRow[] = [];
  let seq = 0;
  return {
    save: (ring: Ring, now: number, isWhole: boolean) => {
      const account = { identifier: 'k7Qm2XaB', rings: [ring], firstRow: 0, former: [] };
      const written = rowsOf([{ account, isWhole: isWhole || seq === 0 }], ++seq, now).map(({ row }) => row);
      rows = isWhole ? written : [...rows, ...written];
      ring.savedHead = ring.head;
    },
    load: () => {
      const accounts = new Map<string, SavedAccount>();
      for (const row of rows) readRow(row, accounts);
      return accounts.get('k7Qm2XaB')?.rings[0] as Ring;
    },
  };
}

function admit(ring: Ring, now: number, count: number): boolean {
  if (remainingAt(ring, now) < count) return false;
  record(ring, now, count);
  return true;
}

const START = Date.parse('2026-01-01T00:00:00Z');

type Step = { kind: 'wait'; ms: number } | { kind: 'spend'; count: number } | { kind: 'save' | 'saveAll' | 'restart' };

/** Bursts, waits of about the window's length to 1/1024 ms, and restarts. */
function stepsFor({ quota, windowSeconds }: RateLimit): fc.Arbitrary<Step[]> {
  const windowMs = windowSeconds * 1000;
  const wait = fc.oneof(
    fc.constantFrom(windowMs, windowMs - 1 / 1024, windowMs + 1 / 1024, windowMs / quota, 0, 1 / 1024),
    fc.double({ min: 0, max: 1.2 * windowMs, noNaN: true }),
  );
  const spend = fc.oneof(
    { weight: 4, arbitrary: fc.constant(1) },
    { weight: 2, arbitrary: fc.integer({ min: 1, max: quota }) },
    { weight: 1, arbitrary: fc.constantFrom(quota, quota + 1) },
  );
  return fc.array(
    fc.oneof(
      { weight: 4, arbitrary: wait.map((ms): Step => ({ kind: 'wait', ms: quantise(ms) })) },
      { weight: 8, arbitrary: spend.map((count): Step => ({ kind: 'spend', count })) },
      { weight: 1, arbitrary: fc.constantFrom<Step[]>({ kind: 'save' }, { kind: 'saveAll' }, { kind: 'restart' }) },
    ),
    { maxLength: 150, size: 'max' },
  );
}

/** Runs the steps against ring and model; `judge` sees each decision. */
function run(
  limit: RateLimit,
  steps: Step[],
  judge: (decision: { ring: Ring; now: number; count: number; admitted: boolean; left: number }) => void,
): number[] {
  let ring = createRing(limit);
  const model = createModel(limit, ring.stepMs);
  const file = createFile();
  let now = quantise(START);
  for (const step of steps) {
    if (step.kind === 'wait') now += step.ms;
    else if (step.kind !== 'spend') {
      file.save(ring, now, step.kind === 'saveAll');
      if (step.kind === 'restart') ring = file.load();
    } else {
      const left = model.remainingAt(now);
      const admitted = admit(ring, now, step.count);
      judge({ ring, now, count: step.count, admitted, left });
      if (admitted) for (let turn = 0; turn < step.count; turn++) model.times.push(now);
    }
  }
  return model.times;
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
        run(limit, steps, ({ ring, now, count, admitted, left }) => {
          expect(admitted).toBe(count <= left);
          expect(remainingAt(ring, now)).toBe(admitted ? left - count : left);
        });
      }),
      { numRuns: rounds(300) },
    );
  });

  test('above a quota of 1024, never too many are admitted, and less than 0.1% of the quota is refused too early', () => {
    fc.assert(
      fc.property(withSteps(grouped), ([limit, steps]) => {
        run(limit, steps, ({ ring, now, count, admitted, left }) => {
          if (count > left) expect(admitted).toBe(false);
          if (!admitted) expect(count).toBeGreaterThan(left - limit.quota / 1_000);
          const shown = remainingAt(ring, now);
          const really = admitted ? left - count : left;
          expect(shown).toBeLessThanOrEqual(really);
          expect(shown).toBeGreaterThan(really - limit.quota / 1_000);
        });
      }),
      { numRuns: rounds(60) },
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
      { numRuns: rounds(300) },
    );
  });

  test('a retry is admitted after Retry-After, and not a second earlier', () => {
    fc.assert(
      fc.property(withSteps(fc.oneof(small, anyWindow, grouped)), ([limit, steps]) => {
        run(limit, steps, ({ ring, now, count, admitted }) => {
          if (admitted) return;
          const wait = waitMs(ring, now, count);
          if (count > limit.quota) {
            expect(wait).toBe(Number.POSITIVE_INFINITY);
            return;
          }
          const seconds = retryAfterSeconds(wait);
          const copy = () => structuredClone(ring);
          expect(remainingAt(copy(), now + wait)).toBeGreaterThanOrEqual(count);
          expect(remainingAt(copy(), now + wait - 1 / 1024)).toBeLessThan(count);
          expect(remainingAt(copy(), now + seconds * 1000)).toBeGreaterThanOrEqual(count);
          expect(remainingAt(copy(), now + (seconds - 1) * 1000)).toBeLessThan(count);
        });
      }),
      { numRuns: rounds(200) },
    );
  });

  test('the remaining quota (r) stays the same until the end of its window (t)', () => {
    fc.assert(
      fc.property(withSteps(fc.oneof(small, anyWindow, grouped)), ([limit, steps]) => {
        run(limit, steps, ({ ring, now }) => {
          const copy = structuredClone(ring);
          const reset = resetSeconds(copy, now);
          const left = remainingAt(copy, now);
          expect(Number.isInteger(reset) && reset >= 0 && reset <= limit.windowSeconds).toBe(true);
          expect(remainingAt(copy, now + reset * 1000)).toBe(left);
        });
      }),
      { numRuns: rounds(200) },
    );
  });
});

test('a step is less than a 2^30th of the window, and a second is a whole number of steps', () => {
  for (const windowSeconds of [1, 60, 2_097, 2_098, 3_600, 86_400, 604_800, 31 * 86_400]) {
    const { stepMs, windowMs } = createRing({ quota: 1, windowSeconds });
    expect(Number.isInteger(1_000 / stepMs)).toBe(true);
    expect(windowMs / stepMs < 2 ** 31 && (windowMs / stepMs > 2 ** 30 || stepMs === 1 / 1024)).toBe(true);
  }
});

test('a ring is empty after a long pause, even if its timestamps look new', () => {
  for (const windowSeconds of [1, 86_400, 31 * 86_400]) {
    const ring = createRing({ quota: 3, windowSeconds });
    record(ring, START, 3);
    const turn = 2 ** 32 * ring.stepMs;
    for (const silence of [turn, 2 * turn, turn + 1, 1_000 * turn]) {
      expect(remainingAt(structuredClone(ring), START + silence)).toBe(3);
    }
  }
});

test('a time before the newest request, as another thread may have read it, frees nothing', () => {
  for (const windowSeconds of [1, 86_400]) {
    const ring = createRing({ quota: 3, windowSeconds });
    record(ring, START, 2);
    for (const before of [1 / 1024, 5, 60_000]) expect(remainingAt(ring, START - before)).toBe(1);
    record(ring, START - 5, 1);
    expect(waitMs(ring, START - 5, 1)).toBeGreaterThanOrEqual(windowSeconds * 1_000 + 5);
    expect(remainingAt(ring, START + windowSeconds * 1_000)).toBe(0);
  }
});

describe('memory', () => {
  test('a ring is as small as its contents, and has at most 1024 timestamps', () => {
    for (const quota of [1, 60, 1_024, 1_025, 5_000, 1_000_000]) {
      const ring = createRing({ quota, windowSeconds: 60 });
      expect(ring.stamps.length).toBeLessThanOrEqual(8);
      for (let count = 0; count < Math.min(quota, 20_000); count++) record(ring, START + count, 1);
      expect(ring.stamps.length).toBeLessThanOrEqual(ringLength(quota));
      expect(ringLength(quota)).toBeLessThanOrEqual(1_024);
      expect(remainingAt(ring, START + 20_000)).toBe(quota - Math.min(quota, 20_000));
    }
  });

  test('one more request writes only one more timestamp to the file', () => {
    const ring = createRing({ quota: 5_000, windowSeconds: 60 });
    record(ring, START, 4_000);
    ring.savedHead = ring.head;
    record(ring, START, 1);
    const account = { identifier: 'k7Qm2XaB', rings: [ring], firstRow: 1, former: [] };
    const [written] = rowsOf([{ account, isWhole: false }], 1, START);
    expect(written?.row.stamps.byteLength).toBe(4);
  });
});
