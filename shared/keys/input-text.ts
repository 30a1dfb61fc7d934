import { isoTime } from '../clock.ts';
import { KEY_STATES } from '../db/key-columns.ts';
import { formatRateLimit, parseRateLimits, type RateLimit } from '../limits/rate-limit.ts';
import { parseExpiry } from './expiry.ts';
import type { InputFacts, InputKind } from './input-rules.ts';

// Parses and formats inputs as people type them into forms, URLs, flags and prompts. The schema validates the result.

type Read = (texts: readonly string[], nowMs: number, facts: InputFacts) => unknown;

/** People write `mybot.dev/about` for the URL of a project: a host name with a dot, without a scheme. */
const BARE_HOST = /^[\p{L}\p{N}-]+(\.[\p{L}\p{N}-]+)+(:\d+)?([/?#]|$)/u;

const first: Read = ([text = '']) => text;

const READERS: Readonly<Record<InputKind, Read>> = {
  line: first,
  lines: first,
  url: ([text = '']) => (BARE_HOST.test(text.trim()) ? `https://${text.trim()}` : text),
  hidden: first,
  permissions: (texts) => texts.flatMap((text) => text.split(',')),
  'rate limits': parseRateLimits,
  time: ([text = ''], nowMs, { label, isEndless }) => {
    const typed = text.trim();
    return isEndless === true && typed === 'never' ? null : parseExpiry(typed, nowMs, label);
  },
  number: ([text = '']) => (/^\d{1,9}$/.test(text) ? Number(text) : Number.NaN),
  states: (texts) =>
    texts
      .flatMap((text) => text.split(','))
      .map((text) => KEY_STATES.find((state) => state.toLowerCase() === text.toLowerCase()) ?? text),
};

/**
 * Converts typed text into the input of a field's schema; a repeated field or flag has several texts. Durations such as `90d`
 * count from `nowMs`. Throws `usage` for malformed rate limits, times and durations.
 */
export function readTyped(facts: InputFacts, texts: readonly string[], nowMs: number): unknown {
  return READERS[facts.kind](texts, nowMs, facts);
}

/** {@link readTyped} for a form field or a prompt, where an empty time means null. */
export function readAnswer(facts: InputFacts, texts: readonly string[], nowMs: number): unknown {
  const isNone = facts.kind === 'time' && (texts[0] ?? '').trim() === '';
  return isNone ? null : readTyped(facts, texts, nowMs);
}

/** The inverse of {@link readAnswer}. */
export function typedText(kind: InputKind, value: unknown): string[] {
  if (value === null || value === undefined) return kind === 'permissions' ? [] : [''];
  if (kind === 'permissions') return value as string[];
  if (kind === 'rate limits') return [(value as RateLimit[]).map(formatRateLimit).join(' ')];
  return [kind === 'time' ? isoTime(value as number) : String(value)];
}
