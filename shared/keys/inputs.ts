import { z } from 'zod';
import { isoTime, parseIsoTime } from '../clock.ts';
import { KEY_STATES } from '../db/schema/keys.ts';
import { AppError } from '../errors.ts';
import { formatRateLimit, parseRateLimits, type RateLimit } from '../limits/rate-limit.ts';
import { CONTROL, CONTROL_BUT_LINE_FEED, codePoints, countText, normaliseText } from '../text.ts';

/** The kinds of form fields and prompts */
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

/** The facts of each field. They have their own registry, so that no OpenAPI document shows them. */
export const INPUT_FACTS = z.registry<InputFacts>();

/** Returns the facts of a field, optional or not. Throws if it has none. */
export function factsOf(schema: z.core.$ZodType): InputFacts {
  const facts = INPUT_FACTS.get(schema);
  if (facts !== undefined) return facts;
  if (schema instanceof z.ZodDefault || isNullish(schema)) return factsOf(schema.unwrap());
  if (schema instanceof z.ZodPipe) return factsOf(schema.in);
  throw new Error('This schema is not a field of an operation.');
}

/** The schema of a field's values other than null and undefined. */
export function valuesOf(schema: z.core.$ZodType): z.core.$ZodType {
  return isNullish(schema) ? valuesOf(schema.unwrap()) : schema;
}

function isNullish(schema: z.core.$ZodType) {
  return schema instanceof z.ZodOptional || schema instanceof z.ZodNullable;
}

/** The name of a field in forms and URLs. */
export function formNameOf(name: string, schema: z.core.$ZodType): string {
  return factsOf(schema).formName ?? name;
}

/** Whether a field is text of several lines. Pages show these last, and links can't fill them in. */
export function isLongText(schema: z.core.$ZodType): boolean {
  return factsOf(schema).kind === 'lines';
}

/** The allowed length of text, as a sentence. */
export function boundsInWords({ min, max }: Bounds): string {
  return min > 1 ? `${min} to ${max} characters.` : `Up to ${max} characters.`;
}

// The building blocks of the schemas of fields, with their error sentences. Texts are trimmed here, and nowhere else.

type TextRule = {
  label: string;
  /** The bounds of the length after trimming, in code points. */
  min: number;
  max: number;
  /** Whether line feeds are allowed. */
  lines: boolean;
  /** Makes the sentence for text that is too short, if it differs from that for text that is too long. */
  short?: (missing: string) => string;
};

/** The schema of a text field. CRLF and CR become LF, and the text is trimmed before its rule is checked. */
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
    return null;
  }).meta({ ...(!mayBeEmpty && { minLength: min }), maxLength: max });
}

/** The facts of a text field, except those of its rule. */
export type TextFacts = Omit<InputFacts, 'label' | 'kind' | 'bounds'>;

/** A text field. */
export function textField(rule: TextRule, facts: TextFacts, mayBeEmpty?: boolean) {
  const { label, lines } = rule;
  const kind = lines ? 'lines' : 'line';
  return textInput(rule, mayBeEmpty).register(INPUT_FACTS, { label, kind, bounds: rule, ...facts });
}

/** The rule of a required text field of one line. */
export function lineOf(label: string): TextRule {
  return { label, min: 1, max: 255, lines: false };
}

/** The field of a whole number. */
export function numberField(label: string, min: number, max: number, facts: Omit<InputFacts, 'label' | 'kind'>) {
  const sentence = `The ${label} must be a whole number from ${min} to ${max}.`;
  return whole(label, min, max, sentence).register(INPUT_FACTS, { label, kind: 'number', ...facts });
}

/** The field of a time, in milliseconds since 1970. */
export function timeField(facts: Omit<InputFacts, 'kind'>) {
  const { label } = facts;
  const schema = whole(label, 0, LATEST_EXPIRY_MS, `The ${label} must be ${EXPIRY_SYNTAX}.`);
  return schema.register(INPUT_FACTS, { ...facts, kind: 'time' });
}

/** Text that is trimmed and then checked by a function that returns an error sentence or null. */
export function trimmed(label: string, fault: (text: string) => string | null) {
  return plain(label).overwrite(normaliseText).check(keeping(fault));
}

/** Text that is not trimmed, such as an identifier. */
export function plain(label: string) {
  return z.string({ error: missingOr(label, `The ${label} must be a string.`) });
}

/** A check by a function that returns an error sentence or null. */
export function keeping<T>(fault: (value: T) => string | null): z.core.CheckFn<T> {
  return ({ value, issues }) => {
    const message = fault(value);
    if (message !== null) issues.push({ code: 'custom', message, input: value });
  };
}

/** The error of a missing value, or `sentence` for a value of the wrong type. */
export function missingOr(label: string, sentence: string) {
  return ({ input }: { input?: unknown }) =>
    input === undefined || input === null ? `The ${label} is missing.` : sentence;
}

/** A whole number from `min` to `max`, with one sentence for all its errors. */
export function whole(label: string, min: number, max: number, sentence: string) {
  const error = missingOr(label, sentence);
  return z.int({ error }).min(min, { error }).max(max, { error });
}

/** Optional text; null if it is absent or empty. */
export function optionalText<T extends z.ZodType<string>>(schema: T) {
  return schema.nullish().transform((text) => text || null);
}

const UNITS = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;
const DURATION = /^([1-9][0-9]{0,8})([smhd])$/;
const DATE = /^\d{4}-\d{2}-\d{2}$/;

/** The latest expiry of a key, in milliseconds since 1970: the end of the year 9999. */
export const LATEST_EXPIRY_MS = Date.parse('9999-12-31T23:59:59.999Z');

/** The syntax of an expiry, for error sentences. */
export const EXPIRY_SYNTAX =
  'a duration such as 90d, 12h or 30m (a year is 365d), or a future date or time such as 2027-01-31 or 2027-01-31T00:00:00Z';

/** Parses a duration such as `90d`, `12h`, `30m` or `45s`. Returns milliseconds, or null for any other string. */
export function parseDuration(text: string): number | null {
  const duration = DURATION.exec(text);
  return duration && Number(duration[1]) * UNITS[duration[2] as keyof typeof UNITS];
}

/** Throws `usage` if a time (milliseconds since 1970; null for none) is not in the future. */
export function refuseTimePast(atMs: number | null, nowMs: number, label = 'expiry'): void {
  if (atMs !== null && atMs <= nowMs) throw new AppError('usage', `The ${label} must be in the future.`);
}

/**
 * Parses an expiry: a duration from now, a date (midnight in UTC) or an ISO 8601 time with a zone. Returns milliseconds
 * since 1970. Throws `usage`, naming it by `label`, if it is invalid, not in the future, or after the year 9999.
 */
export function parseExpiry(text: string, nowMs: number, label = 'expiry'): number {
  const duration = parseDuration(text);
  const at = duration ? nowMs + duration : parseIsoTime(DATE.test(text) ? `${text}T00:00Z` : text);
  if (at === null || at <= nowMs || at > LATEST_EXPIRY_MS)
    throw new AppError('usage', `The ${label} must be ${EXPIRY_SYNTAX}.`);
  return at;
}

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
