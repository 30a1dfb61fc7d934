import { z } from 'zod';
import { isoTime, parseIsoTime } from '../clock.ts';
import { isMailAddress } from '../mail/address.ts';
import { authIdFault, nameFault } from './name.ts';

// The fields of profiles and links. What an import reads and what clients get are derived from these tables.

/** An entry of the table of fields of a profile. */
type Field = {
  /** What a line of an import may have. */
  line: z.ZodType;
  /** What clients get; null for a private field. */
  shown: z.ZodType | null;
  label: string;
  meaning: string;
  /** Makes the value of a profile whose line has none. */
  absent: (username: string, nowMs: number) => unknown;
  /** Whether a profile that a line without a value replaces keeps its own. */
  isKept?: true;
};

/** A check whose messages continue a sentence that begins with the field. They never repeat the value: it may be private. */
function refusing<T>(faultOf: (value: T) => string | null) {
  return (context: { value: T; issues: z.core.$ZodRawIssue[] }) => {
    const message = faultOf(context.value);
    if (message !== null) context.issues.push({ code: 'custom', message, input: context.value });
  };
}

const string = z.string('must be a string');
const text = string.check(refusing((value) => (isPlain(value) ? null : 'may not contain unpaired surrogates or NUL')));
const flag = z.boolean('must be true or false');
const count = z.number('must be a number of at least 0').min(0, 'must be a number of at least 0');
const openObject = z.custom<Record<string, unknown>>().check(refusing(openFault));

/** How deep `customize` and `discordClean` may be nested, themselves included. */
const MAX_DEPTH = 64;

/** Clients in other languages, and PostgreSQL's jsonb, refuse JSON with other texts. */
function isPlain(value: string): boolean {
  return value.isWellFormed() && !value.includes('\0');
}

// Not a schema of zod for any object, since zod copies objects and drops a key __proto__.
function openFault(value: unknown): string | null {
  return isObject(value) ? faultIn(value, 1) : 'must be an object';
}

function faultIn(value: unknown, depth: number): string | null {
  if (depth > MAX_DEPTH) return `may be nested at most ${MAX_DEPTH} levels deep`;
  if (typeof value === 'string') return isPlain(value) ? null : 'may not contain unpaired surrogates or NUL';
  if (typeof value !== 'object' || value === null) return null;
  const isList = Array.isArray(value);
  for (const key of Object.keys(value)) {
    const fault = (isList ? null : faultIn(key, depth)) ?? faultIn((value as Record<string, unknown>)[key], depth + 1);
    if (fault !== null) return fault;
  }
  return null;
}

/** Whether a parsed value is a JSON object. */
export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

const assets = z.custom<Record<string, string | null>>().check(
  refusing((value: unknown) => {
    if (!isObject(value)) return 'must be an object';
    const isSound = (item: unknown) => item === null || (typeof item === 'string' && isPlain(item));
    const isEach = Object.keys(value).every((key) => isPlain(key) && isSound(value[key]));
    return isEach ? null : 'may have only strings and null, without unpaired surrogates and NUL';
  }),
);

const UID_FAULT = `must be a whole number from 1 to ${Number.MAX_SAFE_INTEGER}`;
const uid = z
  .int({ error: ({ input }) => (input === undefined || input === null ? 'is missing' : UID_FAULT) })
  .min(1, UID_FAULT);

const TIME_FAULT = 'must be an ISO 8601 time with a time zone, on a valid date, such as 2024-05-01T00:00:00.000Z';
const time = string.check(refusing((value) => (parseIsoTime(value) === null ? TIME_FAULT : null)));

/** A username or an alias. */
const name = string.check(refusing(nameFault));

// Exports of other programs often have addresses with blanks around them.
const EMAIL_FAULT = 'must be one plain e-mail address';
const email = string.check(refusing((value) => (isMailAddress(value.trim()) ? null : EMAIL_FAULT)));

/** Schemes that run or show the content of the URL itself in the page with the link. */
const UNSAFE = /^(javascript|vbscript|data):/i;

/**
 * Clients put links into pages, where such a link would run a script. Browsers ignore some control characters anywhere in
 * a URL, and others at its start (https://url.spec.whatwg.org/#concept-basic-url-parser).
 */
function schemeFault(url: string): string | null {
  if (/^https?:/.test(url)) return null;
  return UNSAFE.test(url.replace(/\p{Cc}/gu, '').trimStart()) ? 'leads to javascript:, vbscript: or data:' : null;
}

/** All fields of a link, in the order of responses. A field that is null in a line is absent from responses. */
export const LINK_FIELDS = {
  id: { line: text, shown: z.string(), meaning: 'The platform’s own id of the link, which need not be unique.' },
  name: { line: text, shown: z.string(), meaning: 'The name of the link.' },
  link: { line: text.check(refusing(schemeFault)), shown: z.string(), meaning: 'The URL of the link.' },
  title: { line: text.nullish(), shown: z.string().optional(), meaning: 'The title of the link.' },
  image: { line: text.nullish(), shown: z.string().optional(), meaning: 'The image of the link.' },
  clicksCount: {
    line: count.nullish(),
    shown: z.number().min(0).optional(),
    meaning: 'The number of clicks on the link.',
  },
  linkMode: { line: text.nullish(), shown: z.string().optional(), meaning: 'The mode of the link.' },
} as const satisfies Record<string, Pick<Field, 'line' | 'shown' | 'meaning'>>;

const link = z.strictObject(schemasOf(LINK_FIELDS, 'line'), 'must be an object');

/** A badge as clients get it. */
export const Badge = z.strictObject({ name: z.string(), enabled: z.boolean() });

/** UTC with milliseconds. */
export const shownTime = () =>
  z
    .string()
    .regex(/^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$/)
    .meta({ format: 'date-time' });

/** All fields of a profile, by their names in JSON, in the order of export lines and responses. */
export const FIELDS = {
  id: { line: uid, shown: z.int().min(1), label: 'Id', meaning: 'The UID of the profile.', absent: () => 0 },
  username: {
    line: name.nullish(),
    shown: z.string(),
    label: 'Username',
    meaning: 'The primary username, in its owner’s spelling.',
    absent: (username: string) => username,
  },
  aliases: {
    line: z.array(name, 'must be a list').nullish(),
    shown: null,
    label: 'Aliases',
    meaning: 'Other names that lead to the profile.',
    absent: () => [],
    isKept: true,
  },
  authId: {
    line: string.check(refusing(authIdFault)).nullish(),
    shown: null,
    label: 'Auth ID',
    meaning: 'The user’s id in the platform’s sign-in.',
    absent: () => null,
  },
  email: {
    line: email.nullish(),
    shown: null,
    label: 'E-mail',
    meaning: 'The owner’s e-mail address.',
    absent: () => null,
  },
  displayName: {
    line: text.nullish(),
    shown: z.string(),
    label: 'Display name',
    meaning: 'The name shown on the page.',
    absent: (username: string) => username,
  },
  badges: {
    line: z.array(z.strictObject({ name: text, enabled: flag }, 'must be an object'), 'must be a list').nullish(),
    shown: z.array(Badge),
    label: 'Badges',
    meaning: 'The badges of the profile, and which of them are enabled.',
    absent: () => [],
  },
  assets: {
    line: assets.nullish(),
    shown: z.record(z.string(), z.string().nullable()),
    label: 'Assets',
    meaning: 'Names of assets with their URLs, or null.',
    absent: () => ({}),
  },
  customize: {
    line: openObject.nullish(),
    shown: z.looseObject({}),
    label: 'Customize',
    meaning: 'The owner’s settings of the page; any fields.',
    absent: () => ({}),
  },
  discordID: {
    line: text.nullish(),
    shown: z.string().nullable(),
    label: 'Discord ID',
    meaning: 'The ID of the Discord account, or null.',
    absent: () => null,
  },
  discordClean: {
    line: openObject.nullish(),
    shown: z.looseObject({}),
    label: 'Discord',
    meaning: 'The public part of the Discord account; any fields.',
    absent: () => ({}),
  },
  banned: {
    line: flag.nullish(),
    shown: z.boolean(),
    label: 'Banned',
    meaning: 'Whether the profile is banned. Banned profiles are not on the leaderboard, and their keys are refused.',
    absent: () => false,
    isKept: true,
  },
  viewsCount: {
    line: count.nullish(),
    shown: z.number().min(0),
    label: 'Views',
    meaning: 'The number of views of the profile.',
    absent: () => 0,
  },
  followersCount: {
    line: count.nullish(),
    shown: z.number().min(0).nullable(),
    label: 'Followers',
    meaning: 'The number of followers. Null exactly if the profile hides it.',
    absent: () => 0,
  },
  showFollowersCount: {
    line: flag.nullish(),
    shown: null,
    label: 'Followers shown',
    meaning: 'Whether clients see followersCount.',
    absent: () => true,
  },
  showOnLeaderboard: {
    line: flag.nullish(),
    shown: null,
    label: 'On the leaderboard',
    meaning: 'Whether the leaderboard may list the profile. Clients can’t see it.',
    absent: () => true,
  },
  createdAt: {
    line: time.nullish(),
    shown: shownTime(),
    label: 'Created',
    meaning: 'ISO 8601, UTC, with milliseconds.',
    absent: (_username: string, nowMs: number) => isoTime(nowMs),
    isKept: true,
  },
  links: {
    line: z.array(link, 'must be a list').nullish(),
    shown: null,
    label: 'Links',
    meaning: 'The links of the page, in the owner’s order.',
    absent: () => [],
  },
} as const satisfies Record<string, Field>;

/** A field of a profile. */
export type FieldName = keyof typeof FIELDS;

/** The schemas of the fields for lines, or of the public fields for clients. */
export function schemasOf<T extends Record<string, Pick<Field, 'line' | 'shown'>>, Which extends 'line' | 'shown'>(
  fields: T,
  which: Which,
) {
  const schemas = Object.entries(fields).flatMap(([name, field]) => {
    const schema = field[which];
    return schema === null ? [] : [[name, schema] as const];
  });
  return Object.fromEntries(schemas) as {
    [F in keyof T as T[F][Which] extends z.ZodType ? F : never]: T[F][Which] extends z.ZodType ? T[F][Which] : never;
  };
}

/** A line of an import that erases no profile. `shared/profiles/line.ts` says which faults are forgiven. */
export const Line = z.strictObject({ ...schemasOf(FIELDS, 'line'), deleted: flag.nullish() }, 'must be an object');

/** A parsed line. */
export type Line = z.output<typeof Line>;

/** A whole profile, as a line of an export. Optional fields of links without a value are absent. */
export type Profile = {
  [F in FieldName]: NonNullable<Line[F]> | Extract<ReturnType<(typeof FIELDS)[F]['absent']>, null>;
};

/** The public fields, in the order of a SimplifiedProfile. */
export const PUBLIC_FIELDS = (Object.keys(FIELDS) as FieldName[]).filter((field) => FIELDS[field].shown !== null);
