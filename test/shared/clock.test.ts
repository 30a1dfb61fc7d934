import { expect, test } from 'bun:test';
import { openThreadClock } from '../../shared/clock.ts';

test('the clock of all threads runs on, also after it was asked so often that the function is compiled', () => {
  const { monotonicMs } = openThreadClock();
  const first = monotonicMs();
  const started = performance.now();
  while (performance.now() - started < 200) for (let turn = 0; turn < 1_000; turn++) monotonicMs();
  const passed = performance.now() - started;
  // A millisecond for the rounding of both.
  expect(monotonicMs() - first).toBeGreaterThanOrEqual(passed - 1);
});
