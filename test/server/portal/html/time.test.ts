import { describe, expect, test } from 'bun:test';
import { clockTime, pageSentence, relativeTime, spanText, timeText } from '../../../../server/portal/html/time.ts';
import { countText, numberText } from '../../../../shared/text.ts';

const NOW_MS = Date.parse('2026-01-31T09:05:30Z');
const [MINUTE, HOUR, DAY] = [60_000, 3_600_000, 86_400_000] as const;

describe('times', () => {
  test('are shown to the minute, with their zone or in a column that names it', () => {
    expect(timeText(NOW_MS).html).toBe('<time datetime="2026-01-31T09:05:30.000Z">2026-01-31 09:05 UTC</time>');
    expect(clockTime(NOW_MS).html).toContain('>09:05</time>');
  });

  test('are relative in lists, rounded down to one unit, and exact on hover', () => {
    expect(relativeTime(NOW_MS - 2 * DAY, NOW_MS).html).toBe(
      '<time datetime="2026-01-29T09:05:30.000Z" title="2026-01-29 09:05 UTC">2 days ago</time>',
    );
    const said = (ms: number) => relativeTime(NOW_MS + ms, NOW_MS).html.replace(/<[^>]*>/g, '');
    for (const [ms, text] of [
      [0, 'just now'],
      [-(MINUTE - 1), 'just now'],
      [-MINUTE, '1 minute ago'],
      [-(HOUR - 1), '59 minutes ago'],
      [-HOUR, '1 hour ago'],
      [-(DAY - 1), '23 hours ago'],
      [-DAY, '1 day ago'],
      [-45 * DAY, '45 days ago'],
      [-60 * DAY, '2 months ago'],
      [-729 * DAY, '24 months ago'],
      [-730 * DAY, '2 years ago'],
      [MINUTE, 'in 1 minute'],
      [19 * DAY, 'in 19 days'],
    ] as const) {
      expect([ms, said(ms)]).toEqual([ms, text]);
    }
    expect(spanText(0)).toBe('less than a minute');
  });
});

test('in sentences shared with terminals, only times and thousands are formatted for pages', () => {
  const sentence =
    '<b> k7Qm2000 has 2000 characters; it has 1004. 5000/1d until 2026-01-31T09:05:30.000Z, not 2026-01-31.';
  expect(pageSentence(sentence).html).toBe(
    `&lt;b&gt; k7Qm2000 has 2\u202f000 characters; it has 1\u202f004. 5000/1d until ${timeText(NOW_MS).html}, not 2026-01-31.`,
  );
});

test('in a sentence, a name that resembles a time or a count but can be neither is left as it is', () => {
  for (const name of [
    '9999-99-99T99:99:99.999Z',
    '0000-00-00T00:00:00.000Z',
    '00001234 bots',
    `${'9'.repeat(30)} bots`,
  ]) {
    expect(pageSentence(`The profile ${name} is banned.`).html).toBe(`The profile ${name} is banned.`);
  }
});

test('numbers have narrow spaces as thousands separators', () => {
  expect([0, 7, 999, 1_000, 49_573, 1_234_567].map(numberText)).toEqual([
    '0',
    '7',
    '999',
    '1\u202f000',
    '49\u202f573',
    '1\u202f234\u202f567',
  ]);
  expect([countText(1, 'request'), countText(5_000, 'request')]).toEqual(['1 request', '5\u202f000 requests']);
});
