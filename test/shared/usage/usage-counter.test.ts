import { expect, test } from 'bun:test';
import {
  addUsage,
  countUsage,
  createUsageCounter,
  giveBackUsage,
  hasNoUsage,
  takeUsage,
} from '../../../shared/usage/usage-counter.ts';
import { testClock } from '../../support/world.ts';

test('a key has one tally a day, even if its object was replaced or a save failed', () => {
  const clock = testClock();
  const counter = createUsageCounter(clock);
  const same = { identifier: 'k7Qm2XaB' };
  for (let turn = 0; turn < 5; turn++) {
    countUsage(counter, { identifier: 'k7Qm2XaB' }, null);
    countUsage(counter, same, 'not_found');
    if (turn === 2) {
      const taken = takeUsage(counter, 10);
      countUsage(counter, same, 'not_found');
      giveBackUsage(counter, taken);
    }
  }
  addUsage(counter, takeUsage(counter, 1));
  clock.advance(86_400_000);
  countUsage(counter, same, null);
  const taken = takeUsage(counter, 10);
  expect(taken.map(({ ok, notFound }) => [ok, notFound])).toEqual([
    [5, 6],
    [1, 0],
  ]);
  expect(hasNoUsage(counter)).toBe(true);
});
