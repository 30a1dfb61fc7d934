import { expect, test } from 'bun:test';
import { createTallies } from '../../../shared/usage/usage-counter.ts';
import { testClock } from '../../support/world.ts';

test('a key has one tally a day, however many objects it has been and however often it was taken in vain', () => {
  const clock = testClock();
  const tallies = createTallies(clock);
  const same = { identifier: 'k7Qm2XaB' };
  for (let turn = 0; turn < 5; turn++) {
    tallies.count({ identifier: 'k7Qm2XaB' }, null);
    tallies.count(same, 'not_found');
    if (turn === 2) {
      const taken = tallies.take(10);
      tallies.count(same, 'not_found');
      tallies.giveBack(taken);
    }
  }
  tallies.add(tallies.take(1));
  clock.advance(86_400_000);
  tallies.count(same, null);
  const taken = tallies.take(10);
  expect(taken.map(({ ok, notFound }) => [ok, notFound])).toEqual([
    [5, 6],
    [1, 0],
  ]);
  expect(tallies.isEmpty()).toBe(true);
});
