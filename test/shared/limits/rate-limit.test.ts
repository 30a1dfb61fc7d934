import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { formatRateLimit, formatWindow, parseRateLimit, parseRateLimits } from '../../../shared/limits/rate-limit.ts';

describe('the text of a rate limit', () => {
  const good: [string, number, number][] = [
    ['60/1m', 60, 60],
    ['5000/1d', 5_000, 86_400],
    ['1/1s', 1, 1],
    ['1000000/31d', 1_000_000, 2_678_400],
    ['7/90s', 7, 90],
    ['20/s', 20, 1],
    ['1200/min', 1_200, 60],
    ['5000/day', 5_000, 86_400],
    ['7/744h', 7, 2_678_400],
    ['2/2678400s', 2, 2_678_400],
  ];
  for (const [text, quota, windowSeconds] of good) {
    test(`${text} is ${quota} in ${windowSeconds} s`, () =>
      expect(parseRateLimit(text)).toEqual({ quota, windowSeconds }));
  }

  const bad = [
    '',
    '60',
    '0/1m',
    '60/0m',
    '1000001/1m',
    '60/32d',
    '60/745h',
    '60/1w',
    '60/1M',
    ' 60/1m',
    '60/1m ',
    '060/1m',
    '60/01m',
    '-1/1m',
    '6.5/1m',
    '60/1m/1m',
    '٦/1m',
    '9999999/1m',
    '60/9999999s',
    '60/1m\n',
  ];
  for (const text of bad) {
    test(`${JSON.stringify(text)} is refused with the syntax`, () =>
      expect(() => parseRateLimit(text)).toThrow(/<quota>\/<window>/));
  }

  test('the part that is wrong is named', () => {
    expect(() => parseRateLimits(['60/1m', '60/32d'])).toThrow(/^The window in 60\/32d is wrong\. A rate limit is /);
    expect(() => parseRateLimit('0/1m')).toThrow(/^The quota in 0\/1m is wrong\. /);
    expect(() => parseRateLimits(['60/1m', '60/1y'])).toThrow(/^The window in 60\/1y is wrong\. /);
    expect(() => parseRateLimit('sixty')).toThrow(/^A rate limit is /);
  });

  test('a window is shown in the largest unit that divides it', () => {
    const shown = [1, 60, 90, 3_600, 5_400, 86_400, 604_800, 90_000].map(formatWindow);
    expect(shown).toEqual(['1s', '1m', '90s', '1h', '90m', '1d', '7d', '25h']);
  });

  test('a formatted limit is parsed as the same limit', () => {
    const limit = fc.record({
      quota: fc.integer({ min: 1, max: 1_000_000 }),
      windowSeconds: fc.integer({ min: 1, max: 2_678_400 }),
    });
    fc.assert(fc.property(limit, (value) => expect(parseRateLimit(formatRateLimit(value))).toEqual(value)));
  });
});

describe('a key’s rate limits', () => {
  test('are one to four, in the given order', () => {
    for (const texts of [['1/1d', '2/1s'], ['1/1d,2/1s'], ['1/1d, 2/1s'], ['1/1d,', '2/1s']]) {
      expect(parseRateLimits(texts).map(formatRateLimit)).toEqual(['1/1d', '2/1s']);
    }
    expect(() => parseRateLimits([])).toThrow('one to four');
    expect(() => parseRateLimits(['1/1s', '1/2s', '1/3s', '1/4s', '1/5s'])).toThrow('one to four');
  });

  test('have different windows, compared in seconds', () => {
    expect(() => parseRateLimits(['60/60s', '70/1m'])).toThrow('different windows');
  });
});
