import { z } from 'zod';
import { PERMISSIONS } from '../db/key-columns.ts';
import { RATE_LIMIT_BOUNDS } from '../limits/rate-limit.ts';
import { KINDS, type Kind } from '../profiles/field-kinds.ts';
import { LINK_LIST, PUBLIC_LIST, type ShownProfile } from '../profiles/field-values.ts';
import { BOARD_SIZE, PAGE_BOUNDS } from '../profiles/leaderboard/board-bounds.ts';

// The bodies of the API's answers: the code that makes them is held to these by its types, the OpenAPI document is made
// of them, and the tests hold every answer to that. Strict, so that a field which is not named here is found out.

/** A whole number that JSON carries exactly. */
const count = () => z.int().min(0);

/** A time as every answer writes it: UTC with milliseconds. */
const time = () =>
  z
    .string()
    .regex(/^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$/)
    .meta({ format: 'date-time' });

/** A badge of a profile. */
export const Badge = z.strictObject({
  name: z.string(),
  enabled: z.boolean(),
});

/** The schema of each kind of values that clients see, without whether it may be null. */
const OF_KIND = {
  uid: z.int().min(1),
  name: z.string(),
  text: z.string(),
  textOrNull: z.string(),
  badges: z.array(Badge),
  assets: z.record(z.string(), z.string().nullable()),
  openObject: z.looseObject({}),
  flag: z.boolean(),
  count: count(),
  countOrNull: count(),
  time: time(),
} satisfies Partial<Record<Kind, z.ZodType>>;

/** A public profile. */
export const SimplifiedProfile = z.strictObject(
  Object.fromEntries<z.ZodType>(
    PUBLIC_LIST.map(({ name, kind, shownIf, meaning }) => {
      const schema = OF_KIND[kind as keyof typeof OF_KIND];
      const isNullable = KINDS[kind].nullable || shownIf !== undefined;
      return [name, (isNullable ? schema.nullable() : schema).describe(meaning)];
    }),
  ) as { [F in keyof ShownProfile]: z.ZodType<ShownProfile[F]> },
);

/** A link of a profile; an optional field that has no value is absent, never null. */
export const Link = z.strictObject(
  Object.fromEntries(
    LINK_LIST.map(({ name, kind, nullable, meaning }) => {
      const schema = OF_KIND[kind];
      return [name, (nullable ? schema.optional() : schema).describe(meaning)];
    }),
  ),
);

/** The links of a profile. */
export const Links = z.strictObject({
  links: z.array(Link).describe('In the owner’s order; empty where there are none.'),
});

/** What one profile of many was asked by: the parameter and its decoded value, a UID as a number. */
export const Query = z.union([
  z.strictObject({ username: z.string() }),
  z.strictObject({ uid: z.int().min(1) }),
  z.strictObject({ authid: z.string() }),
]);

/** One profile of many, with what it was asked by. */
export const FoundProfile = z.strictObject({
  query: Query,
  profile: SimplifiedProfile,
});

/** The answer to a lookup of many. */
export const FoundProfiles = z.strictObject({
  profiles: z.array(FoundProfile).describe('What was found, in the order asked.'),
  missing: z.array(Query).describe('What was asked for and is not there, in the order asked.'),
});

/** An entry of the leaderboard: the rank and the profile. */
export const LeaderboardEntry = z.strictObject({
  rank: z
    .int()
    .min(1)
    .max(BOARD_SIZE)
    .describe('Competition rank over the whole board: equal counts of views share one (1, 2, 2, 4).'),
  ...SimplifiedProfile.shape,
});

/** A page of the leaderboard. */
export const LeaderboardPage = z.strictObject({
  leaderboard: z.array(LeaderboardEntry).max(PAGE_BOUNDS.maxLimit).describe('By views, then by UID.'),
  limit: z.int().min(PAGE_BOUNDS.minLimit).max(PAGE_BOUNDS.maxLimit).describe('As asked.'),
  offset: z.int().min(0).max(PAGE_BOUNDS.maxOffset).describe('As asked.'),
  total: z.int().min(0).max(BOARD_SIZE).describe(`How many profiles the board has: at most ${BOARD_SIZE}.`),
});

/** Where a key stands with one of its rate limits. */
export const RateLimitLevel = z.strictObject({
  quota: z.int().min(1).max(RATE_LIMIT_BOUNDS.maxQuota).describe('Requests in any window.'),
  windowSeconds: z.int().min(1).max(RATE_LIMIT_BOUNDS.maxWindowSeconds),
  remaining: count().max(RATE_LIMIT_BOUNDS.maxQuota).describe('Requests that would be admitted now.'),
  resetSeconds: count()
    .max(RATE_LIMIT_BOUNDS.maxWindowSeconds)
    .describe('Seconds within which no more than what remains can be used.'),
});

/** What a key may do and what is left of it. */
export const OwnKey = z.strictObject({
  identifier: z
    .string()
    .regex(/^[0-9A-Za-z]{8}$/)
    .describe('Refers to the key; it is not the secret.'),
  name: z.string(),
  permissions: z.array(z.enum(PERMISSIONS)).min(1),
  rateLimits: z.array(RateLimitLevel).min(1).max(RATE_LIMIT_BOUNDS.maxPerKey),
  expiresAt: time().nullable().describe('When the key stops working; null where it never does.'),
});

/** The answer of a server that is well. */
export const Health = z.strictObject({ status: z.literal('ok') });

/** Every refusal. */
export const ErrorBody = z.strictObject({ error: z.string().describe('One sentence for a person.') });

/** All of them by the names that they have in the OpenAPI document. */
export const BODIES = {
  SimplifiedProfile,
  Badge,
  Links,
  Link,
  FoundProfiles,
  FoundProfile,
  Query,
  LeaderboardPage,
  LeaderboardEntry,
  OwnKey,
  RateLimitLevel,
  Health,
  Error: ErrorBody,
} as const;
