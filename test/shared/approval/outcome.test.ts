import { expect, test } from 'bun:test';
import { outcomeOf } from '../../../shared/approval/attempt.ts';
import { MOVES, VOIDING_CHANGES, VOIDING_EVENTS } from '../../../shared/keys/key.ts';
import type { HistoryView } from '../../../shared/keys/view.ts';

test('every end of a request other than its approval voids an attempt, and so do two changes of its profile', () => {
  const ends = Object.values(MOVES).filter(({ from, to }) => from.some((one) => one === 'pending') && to !== 'Active');
  const voiding: readonly string[] = VOIDING_EVENTS;
  expect(voiding.toSorted()).toEqual([...VOIDING_CHANGES, ...ends.map(({ event }) => event)].sort());
});

test('the outcome of the latest attempt has its reason, and the entry that ended it', () => {
  const entry = (event: HistoryView['event'], detail: HistoryView['detail'] = null): HistoryView => {
    return { at: '2026-01-01T00:00:00.000Z', by: 'admin Grace', event, from: 'pending', to: 'pending', detail };
  };
  const attempt = (number: number, result: 'refused' | 'voided') => {
    return { attempt: { number, by: 'admin Grace', startedAt: '2026-01-01T00:00:00.000Z', result } };
  };
  const history = [
    entry('address changed'),
    entry('approval started', { attempt: 1 }),
    entry('approval refused', { attempt: 1, reason: 'No such mailbox.', isTemporary: true }),
    entry('approval started', { attempt: 2 }),
    entry('edited'),
    entry('profile banned', { attempt: 2 }),
    entry('rejected'),
  ];
  expect(outcomeOf({ attempt: null }, history)).toBeNull();
  expect(outcomeOf(attempt(1, 'refused'), history)).toMatchObject({
    ...{ result: 'refused', reason: 'No such mailbox.', isTemporary: true, end: { event: 'approval refused' } },
  });
  expect(outcomeOf(attempt(2, 'voided'), history)).toMatchObject({
    ...{ result: 'voided', reason: undefined, isTemporary: false, end: { event: 'profile banned' } },
  });
});
