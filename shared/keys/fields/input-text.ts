import { isoTime } from '../../clock.ts';
import { KEY_STATES } from '../../db/key-columns.ts';
import { AppError } from '../../errors.ts';
import { formatRateLimit, parseRateLimits, type RateLimit } from '../../limits/rate-limit.ts';
import { formatSpan, parseExpiry, parseSpan } from '../expiry.ts';
import type { InputFacts, InputKind } from './input-facts.ts';

// Parses the fields of an input as people type them into forms, addresses, flags, prompts and queries. The schema validates
// the result.

type Read = (texts: readonly string[], nowMs: number, facts: InputFacts) => unknown;

const first: Read = ([text = '']) => text;

const READERS: Readonly<Record<InputKind, Read>> = {
  line: first,
  lines: first,
  address: first,
  hidden: first,
  permissions: (texts) => texts.flatMap((text) => text.split(',')),
  'rate limits': parseRateLimits,
  time: ([text = ''], nowMs, { label, isEndless }) => {
    const typed = text.trim();
    return isEndless === true && typed === 'never' ? null : parseExpiry(typed, nowMs, label);
  },
  span: ([text = ''], _nowMs, { label }) => {
    const spanMs = parseSpan(text);
    if (spanMs === null) throw new AppError('usage', `The ${label} must be a duration such as 90d or 12h.`);
    return spanMs;
  },
  number: ([text = '']) => (/^\d{1,9}$/.test(text) ? Number(text) : Number.NaN),
  // States may be typed in upper or lower case.
  states: (texts) =>
    texts
      .flatMap((text) => text.split(','))
      .map((text) => KEY_STATES.find((state) => state.toLowerCase() === text.toLowerCase()) ?? text),
};

/**
 * Converts typed text into the input of a field's schema; a repeated field or flag gives several texts. Spans such as `90d`
 * count from `nowMs`. Throws `usage` for malformed rate limits, times and spans.
 */
export function readTyped(facts: InputFacts, texts: readonly string[], nowMs: number): unknown {
  return READERS[facts.kind](texts, nowMs, facts);
}

/** The same for a form field or the answer to a prompt, where an empty time or hidden field means null. Throws what {@link readTyped} throws. */
export function readAnswer(facts: InputFacts, texts: readonly string[], nowMs: number): unknown {
  const isNone = (facts.kind === 'time' || facts.kind === 'hidden') && (texts[0] ?? '').trim() === '';
  return isNone ? null : readTyped(facts, texts, nowMs);
}

/** The inverse of {@link readAnswer}; no text for a value that is absent or null. */
export function typedText(kind: InputKind, value: unknown): string[] {
  if (value === null || value === undefined) return kind === 'permissions' ? [] : [''];
  if (kind === 'permissions') return value as string[];
  if (kind === 'rate limits') return [(value as RateLimit[]).map(formatRateLimit).join(' ')];
  if (kind === 'span') return [formatSpan(value as number)];
  return [kind === 'time' ? isoTime(value as number) : String(value)];
}
