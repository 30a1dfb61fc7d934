import { DAY_MS } from '../clock.ts';
import { KEY_STATES } from '../db/key-columns.ts';
import { AppError } from '../errors.ts';
import { formatRateLimit, parseRateLimits, type RateLimit } from '../limits/rate-limit.ts';
import { EXPIRY_SYNTAX, LATEST_EXPIRY_MS } from './expiry.ts';
import { permissionsFault, projectUrlFault, TEXT_RULES, type TextRule, textFault, USAGE_DAYS } from './fields.ts';
import { isKeyState } from './key.ts';
import { readPlace } from './place.ts';

/** The most keys that a part of a list may have. */
const MOST_IN_PART = 1_000;

/** One field of an operation's input: what doors ask for, and what `perform` checks whichever door it came through. */
export type Field = {
  /** What the field is called in sentences. */
  label: string;
  isRequired: boolean;
  /** Whether an empty text counts as left out where the field need not be there, as forms send it. */
  mayBeEmpty: boolean;
  /** A sentence that says what is wrong with a value, which may be of any type; null where nothing is. */
  fault: (value: unknown) => string | null;
};

/** Every field that an operation on keys can have. */
export const FIELDS = {
  identifier: required('identifier', (value) => textTypeFault('identifier', value)),
  profile: required('profile', (value) => textTypeFault('profile', value)),
  profileId: required('UID', (value) =>
    isWholeFrom(1, Number.MAX_SAFE_INTEGER, value) ? null : 'The UID must be a whole number from 1.',
  ),
  name: textField(TEXT_RULES.name),
  description: textField(TEXT_RULES.description),
  permissions: listField(
    'list of permissions',
    (value) => textsTypeFault('list of permissions', value) ?? permissionsFault(value as string[]),
  ),
  projectUrl: optional(
    required('project URL', (value) => textTypeFault('project URL', value) ?? projectUrlFault(value as string)),
  ),
  expectedUsage: optional(textField(TEXT_RULES.expectedUsage)),
  reason: textField(TEXT_RULES.reason),
  rateLimits: listField('list of rate limits', rateLimitsFault),
  expiresAtMs: timeField('expiry'),
  successorOf: required('identifier of the key to succeed', (value) =>
    textTypeFault('identifier of the key to succeed', value),
  ),
  formId: required('id of the form', (value) => textTypeFault('id of the form', value)),
  retireOldAtMs: timeField('end of the old key'),
  states: listField('list of states', (value) =>
    Array.isArray(value) && value.every((state) => isKeyState(state))
      ? null
      : `A state must be one of ${KEY_STATES.join(', ')}.`,
  ),
  unusedForMs: required('time without use', (value) =>
    isWholeFrom(0, USAGE_DAYS * DAY_MS, value)
      ? null
      : `Unused keys can be listed for at most ${USAGE_DAYS}d, since usage is not kept for longer.`,
  ),
  limit: required('length of the list', (value) =>
    isWholeFrom(1, MOST_IN_PART, value)
      ? null
      : `The length of the list must be a whole number from 1 to ${MOST_IN_PART}.`,
  ),
  after: required('place in the list', (value) =>
    typeof value === 'string' && readPlace(value) !== null
      ? null
      : 'The place in the list must be taken from an earlier answer.',
  ),
  days: required('number of days', (value) =>
    isWholeFrom(1, USAGE_DAYS, value) ? null : `The number of days must be a whole number from 1 to ${USAGE_DAYS}.`,
  ),
} as const satisfies Record<string, Field>;

/** The same field where it may be left out. */
export function optional(field: Field): Field {
  return { ...field, isRequired: false };
}

/**
 * Throws `usage` with the first thing that is wrong with an input. A field that is undefined or null is left out; one
 * that need not be there and is no list may be an empty text too.
 */
export function checkInput(fields: Readonly<Record<string, Field>>, input: Readonly<Record<string, unknown>>): void {
  for (const sentence of inputFaults(fields, input).values()) throw new AppError('usage', sentence);
}

/** Everything that {@link checkInput} finds wrong: a sentence for each field, by its name, in the order of the fields. */
export function inputFaults(
  fields: Readonly<Record<string, Field>>,
  input: Readonly<Record<string, unknown>>,
): Map<string, string> {
  const faults = new Map<string, string>();
  for (const [name, { label, isRequired, mayBeEmpty, fault }] of Object.entries(fields)) {
    const value = input[name] ?? null;
    const isLeftOut = value === null || (value === '' && !isRequired && mayBeEmpty);
    const missing = value === null && isRequired ? `The ${label} is missing.` : null;
    const sentence = missing ?? (isLeftOut ? null : fault(value));
    if (sentence !== null) faults.set(name, sentence);
  }
  return faults;
}

function required(label: string, fault: Field['fault']): Field {
  return { label, isRequired: true, mayBeEmpty: true, fault };
}

function listField(label: string, fault: Field['fault']): Field {
  return { ...required(label, fault), mayBeEmpty: false };
}

function textField(rule: TextRule): Field {
  return required(rule.label, (value) => textTypeFault(rule.label, value) ?? textFault(rule, value as string));
}

function timeField(label: string): Field {
  return required(label, (value) =>
    isWholeFrom(0, LATEST_EXPIRY_MS, value) ? null : `The ${label} must be ${EXPIRY_SYNTAX}.`,
  );
}

function isWholeFrom(least: number, most: number, value: unknown): boolean {
  return Number.isInteger(value) && (value as number) >= least && (value as number) <= most;
}

function textTypeFault(label: string, value: unknown): string | null {
  return typeof value === 'string' ? null : `The ${label} must be a text.`;
}

function textsTypeFault(label: string, value: unknown): string | null {
  const isList = Array.isArray(value) && value.every((item) => typeof item === 'string');
  return isList ? null : `The ${label} must be a list of texts.`;
}

function rateLimitsFault(value: unknown): string | null {
  const isList = Array.isArray(value) && value.every((item) => typeof item === 'object' && item !== null);
  if (!isList) return 'The list of rate limits must be a list of quotas and windows.';
  try {
    parseRateLimits((value as RateLimit[]).map(formatRateLimit));
    return null;
  } catch (error) {
    if (error instanceof AppError) return error.message;
    throw error;
  }
}
