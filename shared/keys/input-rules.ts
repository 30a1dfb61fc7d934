import { z } from 'zod';
import { CONTROL, CONTROL_BUT_LINE_FEED, codePoints, countText, normaliseText } from '../text.ts';
import { EXPIRY_SYNTAX, LATEST_EXPIRY_MS } from './expiry.ts';

/** The kinds of form fields and prompts; `input-text.ts` parses and formats the text of each kind. */
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
