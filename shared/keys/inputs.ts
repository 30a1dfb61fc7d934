import { z } from 'zod';
import { isoTime, parseIsoTime } from '../clock.ts';
import { KEY_STATES } from '../db/schema.ts';
import { AppError } from '../errors.ts';
import { formatRateLimit, parseRateLimits, type RateLimit } from '../limits/rate-limit.ts';
import { CONTROL, CONTROL_BUT_LINE_FEED, codePoints, countText, normaliseText, VISIBLE } from '../text.ts';
import { secretsIn } from './secret.ts';

/** The kinds of form fields and prompts. */
export type InputKind =
  | 'line'
  | 'lines'
  | 'url'
  | 'permissions'
  | 'rate limits'
  | 'time'
  | 'number'
  | 'states'
  | 'hidden';

/** The minimum and maximum length of text, in code points. */
export type Bounds = { min: number; max: number };

/** What forms, prompts and commands need to know of an input field besides its schema. */
export type InputFacts = {
  /** The name in error sentences: `The name is missing.` */
  label: string;
  /** The label in forms and at prompts. */
  title: string;
  hint?: string;
  kind: InputKind;
  /** The name in forms and in the URLs of pages, if it differs from the name of the input. */
  formName?: string;
  /** The flag of `profilectl` with its value, and its help text; null if it has no flag. */
  flag: readonly [flag: `--${string}`, about: string] | null;
  bounds?: Bounds;
  /** The height of the text area. */
  rows?: number;
  /** Whether a time may be `never`. */
  isEndless?: true;
  /** Replaces `title` if the label names the key to replace. */
  titleFor?: (successorOf: string | null) => string;
};

/** The facts of each field. */
export const INPUT_FACTS = z.registry<InputFacts>();

/** Returns the facts of a field, optional or not. Throws if it has none. */
export function factsOf(schema: z.core.$ZodType): InputFacts {
  const facts = INPUT_FACTS.get(schema);
  if (facts !== undefined) return facts;
  if (schema instanceof z.ZodDefault || schema instanceof z.ZodOptional || schema instanceof z.ZodNullable)
    return factsOf(schema.unwrap());
  if (schema instanceof z.ZodPipe) return factsOf(schema.in);
  throw new Error('This schema is not a field of an operation.');
}

/** The name of a field in forms and URLs. */
export function formNameOf(name: string, schema: z.core.$ZodType): string {
  return factsOf(schema).formName ?? name;
}

/** Whether a field is text of several lines. Pages show these last, and links can't fill them in. */
export function isLongText(schema: z.core.$ZodType): boolean {
  return factsOf(schema).kind === 'lines';
}

// The building blocks of the schemas of fields, with their error sentences. Texts are trimmed here, and nowhere else.

type TextRule = Bounds & {
  label: string;
  /** Whether line feeds are allowed. */
  lines: boolean;
  /** Makes the sentence for text that is too short, if it differs from that for text that is too long. */
  short?: (missing: string) => string;
};

/** Text of these bounds, in code points after trimming. CRLF and CR become LF before. */
export function textInput({ label, min, max, lines, short }: TextRule, mayBeEmpty = min === 0) {
  return trimmed(label, (text) => {
    const length = codePoints(text);
    if (length === 0 && mayBeEmpty) return null;
    if (length < min && short)
      return short(length === 0 ? `at least ${min} characters` : countText(min - length, 'more character'));
    if (length < min && length === 0) return `Enter a ${label}.`;
    if (length < min || length > max) {
      return `The ${label} must have ${min === 0 ? 'at most' : `${min} to`} ${max} characters; it has ${length}.`;
    }
    if ((lines ? CONTROL_BUT_LINE_FEED : CONTROL).test(text) || !text.isWellFormed()) {
      return `The ${label} may not contain control characters${lines ? ' other than line feeds' : ''}.`;
    }
    if (!VISIBLE.test(text)) return `The ${label} has only invisible characters.`;
    return null;
  });
}

/** The facts of a text field, except those of its rule. */
export type TextFacts = Omit<InputFacts, 'label' | 'kind' | 'bounds'>;

/** A text field. */
export function textField(rule: TextRule, facts: TextFacts, mayBeEmpty?: boolean) {
  const kind = rule.lines ? 'lines' : 'line';
  return textInput(rule, mayBeEmpty).register(INPUT_FACTS, { label: rule.label, kind, bounds: rule, ...facts });
}

/**
 * Text that is trimmed and then checked by a function that returns an error sentence or null. It has no secret, which would be
 * stored with it.
 */
export function trimmed(label: string, fault: (text: string) => string | null) {
  const leak = `The ${label} may not contain the secret of a key; name the key by its identifier.`;
  return plain(label)
    .overwrite(normaliseText)
    .check(keeping((text) => (secretsIn(text).length > 0 ? leak : fault(text))));
}

/** Text that is not trimmed, such as an identifier. */
export function plain(label: string) {
  return z.string({ error: `The ${label} is missing.` });
}

/** A check by a function that returns an error sentence or null. */
export function keeping<T>(fault: (value: T) => string | null): z.core.CheckFn<T> {
  return ({ value, issues }) => {
    const message = fault(value);
    if (message !== null) issues.push({ code: 'custom', message, input: value });
  };
}

/** A field of a whole number from `min` to `max`, which the error sentence `must be`. */
export function wholeField(min: number, max: number, mustBe: string, facts: InputFacts) {
  const error = `The ${facts.label} must be ${mustBe}.`;
  return z.int({ error }).min(min, { error }).max(max, { error }).register(INPUT_FACTS, facts);
}

/** Optional text; null if it is absent or empty. */
export function optionalText<T extends z.ZodType<string>>(schema: T) {
  return schema.nullish().transform((text) => text || null);
}

// Times as people type them.

const UNITS = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;
const DURATION = /^([1-9][0-9]{0,8})([smhd])$/;

/** The latest expiry of a key, in milliseconds since 1970: the end of the year 9999. */
export const LATEST_EXPIRY_MS = Date.parse('9999-12-31T23:59:59.999Z');

/** The syntax of an expiry, for error sentences. */
export const EXPIRY_SYNTAX =
  'a duration such as 90d, 12h or 30m (a year is 365d), or a future date or time such as 2027-01-31 or 2027-01-31T00:00:00Z';

/**
 * Parses a duration such as `90d`, `12h`, `30m` or `45s` after `nowMs` (before it, if `sign` is -1), a date (its midnight in UTC)
 * or an ISO 8601 time with its zone. Returns milliseconds since 1970; null for any other string.
 */
export function parseTime(text: string, nowMs: number, sign: 1 | -1 = 1): number | null {
  const [, count, unit] = DURATION.exec(text) ?? [];
  if (count !== undefined) return nowMs + sign * Number(count) * UNITS[unit as keyof typeof UNITS];
  return parseIsoTime(/^\d{4}-\d{2}-\d{2}$/.test(text) ? `${text}T00:00Z` : text);
}

/** Throws `usage` if a time (milliseconds since 1970; null for none) is not in the future. */
export function refuseTimePast(atMs: number | null, nowMs: number, label = 'expiry'): void {
  if (atMs !== null && atMs <= nowMs) throw new AppError('usage', `The ${label} must be in the future.`);
}

/** Parses an expiry. Throws `usage`, naming it by `label`, if it is invalid, not in the future, or after the year 9999. */
export function parseExpiry(text: string, nowMs: number, label = 'expiry'): number {
  const at = parseTime(text, nowMs);
  if (at === null || at <= nowMs || at > LATEST_EXPIRY_MS)
    throw new AppError('usage', `The ${label} must be ${EXPIRY_SYNTAX}.`);
  return at;
}

// Positions in lists of keys (`shared/keys/list.ts`).

/** 1 if the key was pending, else 0; when it was requested, in milliseconds since 1970; its identifier. */
const CURSOR = /^([01])-(\d{1,15})-([0-9A-Za-z]{8})$/;

/** A position in the list, after a key. */
export type Cursor = { isPending: boolean; requestedAtMs: number; identifier: string };

/** Parses a cursor; null for any other string. */
export function readCursor(text: string): Cursor | null {
  const [, group, at, identifier] = CURSOR.exec(text) ?? [];
  return identifier === undefined ? null : { isPending: group === '1', requestedAtMs: Number(at), identifier };
}

/** People write `mybot.dev/about` for the URL of a project: a host name with a dot, without a scheme. */
const BARE_HOST = /^[\p{L}\p{N}-]+(\.[\p{L}\p{N}-]+)+(:\d+)?([/?#]|$)/u;

/**
 * Converts text as people type it into forms, URLs, flags and prompts into the input of a field's schema; a repeated field or
 * flag has several texts. Durations such as `90d` count from `nowMs`. Throws `usage` for malformed rate limits, times and
 * durations.
 */
export function readTyped({ kind, label, isEndless }: InputFacts, texts: readonly string[], nowMs: number): unknown {
  const [text = ''] = texts;
  const typed = text.trim();
  const words = () => texts.flatMap((one) => one.split(','));
  switch (kind) {
    case 'url':
      return BARE_HOST.test(typed) ? `https://${typed}` : text;
    case 'permissions':
      return words();
    case 'states':
      return words().map((one) => KEY_STATES.find((state) => state.toLowerCase() === one.toLowerCase()) ?? one);
    case 'rate limits':
      return parseRateLimits(texts);
    case 'time':
      return isEndless === true && typed === 'never' ? null : parseExpiry(typed, nowMs, label);
    case 'number':
      return /^\d{1,9}$/.test(text) ? Number(text) : Number.NaN;
    default:
      return text;
  }
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
