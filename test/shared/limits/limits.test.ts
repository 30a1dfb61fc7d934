import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { type Limits, openLimits } from '../../../shared/limits/limits.ts';
import { readQuotaRows, readStored } from '../../../shared/limits/stored.ts';
import { quantise } from '../../../shared/limits/window.ts';
import { rounds } from '../../support/rounds.ts';
import { leftIn, memoryDatabase, saveTo, use as useOf } from '../../support/storage.ts';
import { testClock } from '../../support/world.ts';

/** A database, a clock, and a function that opens the limits as a starting server does. */
function world() {
  const sqlite = memoryDatabase();
  const clock = testClock();
  return { sqlite, clock, open: () => openLimits(clock, readStored(sqlite)) };
}

const KEY = {
  identifier: 'k7Qm2XaB',
  rateLimits: [
    { quota: 60, windowSeconds: 60 },
    { quota: 5_000, windowSeconds: 86_400 },
  ],
};

// A new object for each request, as the server has after each change of a key.
const copy = ({ identifier, rateLimits }: typeof KEY) => ({ identifier, rateLimits: [...rateLimits] });
const use = (limits: Limits, count = 1, key = KEY) => useOf(limits, copy(key), count);
const left = (limits: Limits, key = KEY) => limits.levelsOf(copy(key)).map(({ remaining }) => remaining);

describe('several limits and any cost, compared with a naive record of all requests', () => {
  const limit = fc.record({ quota: fc.integer({ min: 1, max: 40 }), windowSeconds: fc.constantFrom(1, 2, 3, 5, 60) });
  const granted = fc.uniqueArray(limit, { minLength: 1, maxLength: 4, selector: ({ windowSeconds }) => windowSeconds });
  const step = fc.record({
    waitMs: fc.oneof(
      fc.constantFrom(0, 1 / 1024, 500, 1_000, 2_000, 60_000),
      fc.double({ min: 0, max: 3_000, noNaN: true }),
    ),
    count: fc.oneof(
      { weight: 3, arbitrary: fc.constant(1) },
      { weight: 1, arbitrary: fc.integer({ min: 1, max: 41 }) },
    ),
  });
  const steps = fc.array(step, { maxLength: 150, size: 'max' });

  test('a request is admitted exactly if all limits have room; a refused one after the wait, and not before', () => {
    const { clock, open } = world();
    const limits = open();
    const startMs = clock.nowMs();
    const time = () => quantise(startMs + clock.monotonicMs());
    let keys = 0;
    fc.assert(
      fc.property(granted, steps, (rateLimits, sequence) => {
        const account = limits.accountOf({ identifier: `key${++keys}`, rateLimits });
        const admitted: number[] = [];
        const hasRoom = (at: number, count: number) =>
          rateLimits.every(({ quota, windowSeconds }) => {
            const used = admitted.filter((time) => at - time <= windowSeconds * 1000).length;
            return used + count <= quota;
          });
        for (const { waitMs, count } of sequence) {
          clock.advance(waitMs);
          const now = time();
          const wait = limits.spend(account, count);
          expect(wait === null).toBe(hasRoom(now, count));
          const isImpossible = rateLimits.some(({ quota }) => count > quota);
          expect(wait === Number.POSITIVE_INFINITY).toBe(isImpossible);
          if (wait === null) for (let turn = 0; turn < count; turn++) admitted.push(now);
          else if (!isImpossible) {
            expect(hasRoom(now + wait, count)).toBe(true);
            expect(hasRoom(now + wait - 1 / 1024, count)).toBe(false);
          }
        }
      }),
      { numRuns: rounds(38) },
    );
  });
});

describe('at a restart', () => {
  test('nothing is lost after a clean stop', () => {
    const { sqlite, clock, open } = world();
    const first = open();
    use(first, 20);
    clock.advance(30_000);
    use(first, 30);
    saveTo(sqlite, first, true);
    const second = open();
    expect(left(second)).toEqual([10, 4_950]);
    clock.advance(30_000.5);
    expect(left(second)).toEqual([30, 4_950]);
    expect(use(second, 31)).toBeGreaterThan(29_999);
    saveTo(sqlite, second, true);
    clock.advance(86_400_000);
    expect(left(open())).toEqual([60, 5_000]);
  });

  test('a wall clock that was set while it was stopped: exactly that time does not count', () => {
    for (const [stepMs, waitMs] of [
      [-86_400_000, 60_000],
      [-20_000, 30_000],
      [5_000, 5_000],
    ] as const) {
      const { sqlite, clock, open } = world();
      const first = open();
      use(first, 60);
      saveTo(sqlite, first, true);
      clock.advance(50_000);
      clock.jump(stepMs);
      const second = open();
      expect(use(second)).toBe(waitMs + 1 / 1024);
      clock.advance(waitMs);
      // A request that is exactly a window old still counts.
      expect(use(second)).toBe(1 / 1024);
      clock.advance(1 / 1024);
      expect(use(second, 60)).toBeNull();
    }
  });

  test('a clean stop stores the time, so that what passed since the last request counts even if the clock is set back', () => {
    const { sqlite, clock, open } = world();
    const first = open();
    use(first, 60);
    saveTo(sqlite, first);
    clock.advance(40_000);
    saveTo(sqlite, first, true);
    clock.jump(-3_600_000);
    expect(use(open())).toBe(20_000 + 1 / 1024);
  });
});

test('limits follow the time that really passes, however the wall clock is set meanwhile', () => {
  const yearMs = 365 * 86_400_000;
  for (const stepMs of [-yearMs, -3_600_000, -1_000, 1_000, 3_600_000, yearMs]) {
    const { clock, open } = world();
    const limits = open();
    use(limits, 60);
    clock.advance(20_000);
    clock.jump(stepMs);
    expect(use(limits)).toBe(40_000 + 1 / 1024);
    clock.advance(40_000 + 1 / 1024);
    expect(use(limits, 60)).toBeNull();
    expect(use(limits)).toBe(60_000 + 1 / 1024);
  }
});

test('levels have what is left, and in how many milliseconds there is more and everything', () => {
  const { clock, open } = world();
  const limits = open();
  const full = { moreInMs: null, fullInMs: null };
  expect(limits.levelsOf(KEY)).toEqual(KEY.rateLimits.map((limit) => ({ ...limit, remaining: limit.quota, ...full })));
  use(limits, 50);
  clock.advance(20_000);
  use(limits, 10);
  const [minute, day] = limits.levelsOf(KEY);
  expect(minute).toEqual({
    quota: 60,
    windowSeconds: 60,
    remaining: 0,
    moreInMs: 40_000 + 1 / 1024,
    fullInMs: 60_000 + 1 / 1024,
  });
  expect(day?.remaining).toBe(4_940);
  // For limits that the key does not have yet, without changing its own.
  const changed = { ...KEY, rateLimits: [{ quota: 100, windowSeconds: 86_400 }] };
  expect(left(limits, changed)).toEqual([40]);
  expect(left(limits)).toEqual([0, 4_940]);
});

describe('the stored rows', () => {
  const keys = Array.from({ length: 5 }, (_, index) => ({ ...KEY, identifier: `key${index}` }));

  test('stay few however long the server runs, and a crash at any time loses nothing that was stored', () => {
    const { sqlite, clock, open } = world();
    const limits = open();
    let most = 0;
    for (let turn = 1; turn <= 3_000; turn++) {
      // The last key is used rarely, the first one a lot.
      use(limits, 1, keys[turn % 500 === 0 ? 4 : turn % 4]);
      use(limits, 5, keys[0]);
      clock.advance(3_000);
      saveTo(sqlite, limits);
      if (turn % 100 !== 0) continue;
      for (const key of keys) expect(leftIn(sqlite, key, clock)).toEqual(left(limits, key));
      const rows = readQuotaRows(sqlite);
      most = Math.max(most, rows.length);
      // Four keys have up to 1 000 groups of some ten digits each, stored twice at most.
      expect(rows.reduce((bytes, { spent }) => bytes + spent.length, 0)).toBeLessThan(150_000);
    }
    expect(most).toBeLessThanOrEqual(257);
  });

  test('have what a restarted server, changed limits and forgotten keys leave', () => {
    const { sqlite, clock, open } = world();
    const brief = { identifier: 'brief', rateLimits: [{ quota: 9, windowSeconds: 60 }] };
    let limits = open();
    for (let turn = 0; turn < 1_200; turn++) {
      clock.advance(turn % 30 === 0 ? 61_000 : 500);
      if (turn % 30 < 2) use(limits, 1 + (turn % 30), brief);
      use(limits, 1, turn % 400 < 200 ? keys[0] : { ...KEY, identifier: 'key0', rateLimits: brief.rateLimits });
      if (turn % 149 !== 1) {
        if (turn % 3 !== 0) saveTo(sqlite, limits);
        continue;
      }
      saveTo(sqlite, limits);
      const expected = [left(limits, brief), left(limits, keys[0])];
      limits = open();
      expect([left(limits, brief), left(limits, keys[0])]).toEqual(expected);
    }
  });

  test('of 501 keys in a burst after a restart: a crash between two saves loses nothing', () => {
    const rateLimits = [
      { quota: 60, windowSeconds: 60 },
      { quota: 100, windowSeconds: 86_400 },
    ];
    const many = Array.from({ length: 501 }, (_, at) => ({ identifier: `k${at}`.padEnd(8, '_'), rateLimits }));
    const { sqlite, clock, open } = world();
    const first = open();
    for (const key of many) for (const count of [40, 20]) use(first, count, key);
    clock.advance(61_000);
    for (const key of many) use(first, 40, key); // 100 of 100 a day.
    saveTo(sqlite, first, true);
    clock.advance(61_000);
    const second = open();
    for (let turn = 0; turn < 300; turn++) {
      use(second, 1, keys[0]);
      for (const key of many) expect(use(second, 1, key)).not.toBeNull();
      saveTo(sqlite, second);
    }
    const third = open();
    expect(many.filter((key) => (left(third, key)[1] ?? 0) > 0)).toEqual([]);
  });

  test('forget keys whose windows are empty', () => {
    const { sqlite, clock, open } = world();
    const limits = open();
    for (let count = 0; count < 100; count++) {
      use(limits, 1, { identifier: `key${count}`, rateLimits: [{ quota: 5, windowSeconds: 60 }] });
    }
    saveTo(sqlite, limits);
    clock.advance(60_001);
    use(limits, 1, { ...KEY, identifier: 'another' });
    saveTo(sqlite, limits);
    expect(readQuotaRows(sqlite).map(({ spent }) => JSON.parse(spent).whole)).toEqual([
      [['another', [expect.anything(), expect.anything()]]],
    ]);
  });

  test('of a save that failed are written again with what was spent since', () => {
    const { sqlite, open } = world();
    const limits = open();
    use(limits, 3);
    limits.changes();
    use(limits, 2);
    saveTo(sqlite, limits);
    use(limits, 1);
    limits.changes();
    use(limits, 1);
    saveTo(sqlite, limits);
    expect(limits.hasChanges()).toBe(false);
    expect(left(open())).toEqual([53, 4_993]);
  });
});
