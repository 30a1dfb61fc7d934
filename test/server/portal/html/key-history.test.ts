import { expect, test } from 'bun:test';
import { historyList } from '../../../../server/portal/html/key-facts.ts';
import type { HistoryView } from '../../../../shared/keys/view.ts';

test('a history of more than 200 entries shows the latest 200, and says how many there are', () => {
  const renamed = (count: number) =>
    Array.from({ length: count }, (_, at): HistoryView => {
      const detail = { nameBefore: `Name ${at}`, nameAfter: `Name ${at + 1}` };
      return { at: '2026-01-01T00:00:00.000Z', by: 'owner', event: 'edited', from: 'Active', to: 'Active', detail };
    });
  const text = historyList(renamed(1_000), 0).html;
  expect(text.split('<li>').length - 1).toBe(200);
  expect(text).toContain('The latest 200 of 1\u202f000 entries:');
  expect([text.includes('Name 799'), text.includes('Name 1000')]).toEqual([false, true]);
  expect(historyList(renamed(200), 0).html).not.toContain('The latest');
});
