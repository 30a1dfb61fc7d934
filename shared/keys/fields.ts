import { z } from 'zod';
import { KEY_STATES, PERMISSIONS } from '../db/schema.ts';
import { AppError, faultOf } from '../errors.ts';
import { checkRateLimits, type RateLimit } from '../limits/rate-limit.ts';
import { codePoints, joinWords } from '../text.ts';
import { USAGE_DAYS, USUAL_DAYS } from '../usage/usage.ts';
import {
  EXPIRY_SYNTAX,
  INPUT_FACTS,
  keeping,
  LATEST_EXPIRY_MS,
  optionalText,
  plain,
  readCursor,
  type TextFacts,
  textField,
  trimmed,
  wholeField,
} from './inputs.ts';
import { isIdentifier } from './secret.ts';

// All input fields of the operations on keys: their schemas with error sentences, labels, hints and flags.

/** Parses an input by its schema. Throws `usage` with the first error. */
export function parseInput<Schema extends z.ZodType>(schema: Schema, input: unknown): z.output<Schema> {
  const result = schema.safeParse(input);
  if (result.success) return result.data;
  throw new AppError('usage', result.error.issues[0]?.message ?? 'The input is invalid.');
}

const MAX_PAGE_LENGTH = 1_000;

/** The default number of keys on a page of a list. */
export const USUAL_PAGE_LENGTH = 50;

/** In code points. */
const MAX_URL_LENGTH = 2048;

function projectUrlFault(text: string): string | null {
  if (text === '') return null;
  const isWeb = URL.canParse(text) && /^https?:\/\//i.test(text);
  if (isWeb && codePoints(text) <= MAX_URL_LENGTH && !/[\p{Cc}\s]/u.test(text) && text.isWellFormed()) return null;
  return `The project URL must be an http or https URL of at most ${MAX_URL_LENGTH} characters.`;
}

const NO_STATE = { error: `A state must be one of ${KEY_STATES.join(', ')}.` };
const INVALID_CURSOR = {
  error: 'The cursor must be the identifier of a key or come from an earlier response.',
};
const UNKNOWN_PERMISSION = { error: 'The only permissions are api.lookup and api.leaderboard.' };
const NO_PERMISSION = { error: 'Select at least one permission: api.lookup, api.leaderboard, or both.' };

const ONE_LINE = { min: 1, max: 255, lines: false };
const DESCRIPTION = {
  label: 'description',
  min: 80,
  max: 2000,
  lines: true,
  short: (missing: string) =>
    `The description needs ${missing}: say what the program does, who it is for, and what it stores.`,
};
const REASON = { label: 'reason', min: 1, max: 2000, lines: true };
const REASON_FACTS: TextFacts = {
  title: 'Reason',
  hint: 'The owner gets it by e-mail.',
  flag: ['--reason <text>', 'the reason, which the owner will read'],
};

/** Every input field of the operations on keys, in its required form. */
export const FIELDS = {
  identifier: plain('identifier').register(INPUT_FACTS, {
    label: 'identifier',
    title: 'Identifier',
    kind: 'hidden',
    flag: null,
  }),
  profile: plain('profile').register(INPUT_FACTS, {
    label: 'profile',
    title: 'Profile',
    hint: 'Its username or an alias.',
    kind: 'line',
    flag: ['--profile <username>', 'the username or an alias of the profile'],
  }),
  profileId: wholeField(1, Number.MAX_SAFE_INTEGER, 'a whole number from 1', {
    label: 'UID',
    title: 'UID',
    kind: 'hidden',
    flag: null,
  }),
  name: textField(
    { label: 'name', ...ONE_LINE },
    {
      title: 'Name of the key',
      hint: 'Any name you like; you can change it later.',
      flag: ['--name <name>', 'the name of the key, 1 to 255 characters'],
    },
  ),
  find: textField({ label: 'text to find', ...ONE_LINE }, { title: 'Key, profile or address', flag: null }),
  description: textField(DESCRIPTION, {
    title: 'Description',
    hint: 'What is it for? Admins base their decision on this.',
    rows: 8,
    flag: ['--description <text>', 'what the key is for, 80 to 2000 characters'],
  }),
  permissions: z
    .array(z.enum(PERMISSIONS, UNKNOWN_PERMISSION), NO_PERMISSION)
    .min(1, NO_PERMISSION)
    // Without duplicates, in their fixed order.
    .overwrite((list) => PERMISSIONS.filter((permission) => list.includes(permission)))
    .register(INPUT_FACTS, {
      label: 'list of permissions',
      title: 'Permissions',
      hint: 'At least one.',
      kind: 'permissions',
      flag: ['--permission <permission>', 'api.lookup or api.leaderboard'],
    }),
  projectUrl: optionalText(
    trimmed('project URL', projectUrlFault).register(INPUT_FACTS, {
      label: 'project URL',
      title: 'Project URL',
      kind: 'url',
      flag: ['--project-url <url>', 'the URL of the project'],
      hint: 'A website about the project (http or https).',
      bounds: { min: 0, max: MAX_URL_LENGTH },
    }),
  ),
  expectedUsage: optionalText(
    textField(
      { label: 'expected usage', min: 0, max: 1000, lines: true },
      {
        title: 'Expected usage',
        hint: 'How often, and for what.',
        rows: 4,
        flag: ['--expected-usage <text>', 'how often it will be used, up to 1000 characters'],
      },
    ),
  ),
  reason: textField(REASON, REASON_FACTS),
  rateLimits: z
    .array(z.custom<RateLimit>())
    .check(keeping((limits) => faultOf(() => checkRateLimits(limits))))
    .register(INPUT_FACTS, {
      label: 'list of rate limits',
      title: 'Rate limits',
      kind: 'rate limits',
      flag: ['--rate-limit <limit>', 'such as 60/1m or 5000/1d'],
      hint: 'For example 60/1m 5000/1d: 60 requests a minute and 5 000 a day.',
    }),
  expiresAtMs: wholeField(0, LATEST_EXPIRY_MS, EXPIRY_SYNTAX, {
    kind: 'time',
    label: 'expiry',
    title: 'Expires',
    formName: 'expires',
    isEndless: true,
    flag: ['--expires <when>', 'such as 90d, 2027-01-31T12:00Z or "never"'],
    hint: 'Leave it empty for never, or enter a duration such as 90d or 12h, a date such as 2027-01-31, or a time such as 2027-01-31T12:00Z.',
  }),
  retireOldAtMs: wholeField(0, LATEST_EXPIRY_MS, EXPIRY_SYNTAX, {
    kind: 'time',
    label: 'expiry of the old key',
    title: 'When the old key expires',
    formName: 'retireOld',
    titleFor: (old) => `Expiry of key ${old}, which this one replaces`,
    flag: ['--retire-old <when>', 'when the key that this one replaces expires'],
    hint: 'Leave it empty to keep its expiry, or enter a duration such as 7d, a date, or a time. It never expires later than it already would.',
  }),
  successorOf: optionalText(
    plain('identifier of the key to replace').register(INPUT_FACTS, {
      label: 'identifier of the key to replace',
      title: 'Successor of',
      kind: 'hidden',
      flag: ['--successor-of <identifier>', 'the Active key that the new one replaces'],
    }),
  ),
  states: z.array(z.enum(KEY_STATES, NO_STATE), NO_STATE).register(INPUT_FACTS, {
    label: 'list of states',
    title: 'States',
    kind: 'states',
    formName: 'state',
    flag: ['--state <state>', joinWords(KEY_STATES, 'or')],
  }),
  limit: wholeField(1, MAX_PAGE_LENGTH, `a whole number from 1 to ${MAX_PAGE_LENGTH}`, {
    label: 'limit',
    title: 'Limit',
    kind: 'number',
    flag: [
      '--limit <number>',
      `at most this many, 1 to ${MAX_PAGE_LENGTH}; default: ${USUAL_PAGE_LENGTH} on a terminal, otherwise all`,
    ],
  }),
  after: z
    .string(INVALID_CURSOR)
    .refine((text) => readCursor(text) !== null || isIdentifier(text), INVALID_CURSOR)
    .register(INPUT_FACTS, {
      label: 'cursor',
      title: 'After',
      kind: 'line',
      flag: ['--after <identifier>', 'only keys after this one in the list'],
    }),
  days: wholeField(1, USAGE_DAYS, `a whole number from 1 to ${USAGE_DAYS}`, {
    label: 'number of days',
    title: 'Days',
    kind: 'number',
    flag: ['--days <number>', `days (UTC) up to today, 1 to ${USAGE_DAYS}; default: ${USUAL_DAYS}`],
  }),
} as const;

/** The optional reason of an owner. */
export const OPTIONAL_REASON = optionalText(
  textField(REASON, { ...REASON_FACTS, hint: 'Admins can read it in the history.' }, true),
);

const { name, description, permissions, projectUrl, expectedUsage } = FIELDS;

/** The fields of a request for a key. */
export const KEY_REQUEST = z.object({ name, description, permissions, projectUrl, expectedUsage });

/** A request for a key, validated and trimmed. */
export type KeyRequest = z.output<typeof KEY_REQUEST>;

/** A change of a key that has a secret. Absent fields stay as they are; an expiry of null means never. */
export const KEY_CHANGE = z.object({
  permissions: permissions.nullish(),
  rateLimits: FIELDS.rateLimits.nullish(),
  expiresAtMs: FIELDS.expiresAtMs.nullish(),
});

/** A validated change. */
export type KeyChange = z.output<typeof KEY_CHANGE>;

/** The grant of an approval. Absent fields get their defaults. */
export const GRANT = z.object({ ...KEY_CHANGE.shape, retireOldAtMs: FIELDS.retireOldAtMs.nullish() });

/** A validated grant. Times are milliseconds since 1970. */
export type Grant = z.output<typeof GRANT>;

/** Which keys to list. With `limit`, one page; `after` is a cursor or the identifier of a key. */
export const LIST_FILTER = z.object({
  states: FIELDS.states.nullish(),
  profile: FIELDS.profile.nullish(),
  find: FIELDS.find.nullish(),
  limit: FIELDS.limit.nullish(),
  after: FIELDS.after.nullish(),
});

/** A validated filter. */
export type ListInput = z.output<typeof LIST_FILTER>;
