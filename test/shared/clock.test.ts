import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { DAY_MS, SETTLE_MS, withSettledTime } from '../../shared/clock.ts';
import { createClockModel } from '../support/storage/clock-model.ts';
import { testClock } from '../support/world.ts';

/** Jumps of the wall clock from seconds to years. */
const JUMPS_MS = [2_000, 5_000, 60_000, 3_600_000, DAY_MS, 200 * DAY_MS, 20 * 365 * DAY_MS];

describe('the settled time', () => {
  test('is available ten minutes after the start, and not a millisecond earlier', () => {
    const clock = testClock(0, false);
    expect(clock.settledMs()).toBeNull();
    clock.advance(SETTLE_MS - 1);
    expect(clock.settledMs()).toBeNull();
    clock.advance(1);
    expect(clock.settledMs()).toBe(SETTLE_MS);
  });

  test.each([...JUMPS_MS, ...JUMPS_MS.map((ms) => -ms)])('is null for ten minutes after a jump of %d ms', (jumpMs) => {
    const clock = testClock();
    clock.jump(jumpMs);
    expect(clock.settledMs()).toBeNull();
    clock.advance(SETTLE_MS - 1);
    expect(clock.settledMs()).toBeNull();
    clock.advance(1);
    expect(clock.settledMs()).toBe(clock.nowMs());
    clock.jump(-jumpMs);
    expect(clock.settledMs()).toBeNull();
  });

  test('agrees with a model that looks back over all readings', () => {
    const wait = fc.oneof(fc.constantFrom(0, 1, SETTLE_MS - 1, SETTLE_MS), fc.nat(2 * SETTLE_MS), fc.nat(10_000));
    // In hours without a call, the clocks may drift apart by seconds, so that a jump must be longer to be noticed.
    const jumps = JUMPS_MS.filter((ms) => ms >= 60_000);
    const jump = fc.oneof(
      { weight: 3, arbitrary: fc.constant(0) },
      { weight: 1, arbitrary: fc.constantFrom(...jumps) },
      { weight: 1, arbitrary: fc.constantFrom(...jumps).map((ms) => -ms) },
    );
    const step = fc.record({ wait, jump, isAsked: fc.boolean() });
    fc.assert(
      fc.property(fc.boolean(), fc.array(step, { maxLength: 60 }), (isSettled, steps) => {
        const clock = testClock(0, isSettled);
        const model = createClockModel(clock, isSettled);
        for (const { wait: waitMs, jump: jumpMs, isAsked } of steps) {
          clock.advance(waitMs);
          clock.jump(jumpMs);
          if (isAsked) expect(clock.settledMs()).toBe(model.see());
        }
      }),
      { numRuns: 500 },
    );
  });

  test('stays during a leap second and with clocks of slightly different rates, however rarely it is read', () => {
    for (const everyMs of [1_000, SETTLE_MS, DAY_MS]) {
      for (const rate of [0.9996, 1.0004]) {
        let steadyMs = -SETTLE_MS;
        let leapMs = 0;
        const clock = withSettledTime({
          nowMs: () => Math.floor(steadyMs * rate) + leapMs,
          monotonicMs: () => steadyMs,
        });
        for (let turn = 0; turn < 5_000; turn++) {
          steadyMs += everyMs;
          if (turn === 4_000) leapMs = -1_000;
          if (steadyMs >= 0) expect(clock.settledMs()).not.toBeNull();
        }
      }
    }
  });

  test('is null while the wall clock runs too fast', () => {
    let steadyMs = -SETTLE_MS;
    const clock = withSettledTime({ nowMs: () => Math.floor(steadyMs * 1.01), monotonicMs: () => steadyMs });
    for (; steadyMs < 2 * SETTLE_MS; steadyMs += 1_000) clock.settledMs();
    expect(clock.settledMs()).toBeNull();
  });
});
