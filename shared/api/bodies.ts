import { z } from 'zod';
import { PERMISSIONS } from '../db/key-columns.ts';
import { RATE_LIMIT_BOUNDS } from '../limits/rate-limit.ts';
import { KINDS, type Kind } from '../profiles/field-kinds.ts';
import { LINK_LIST, PUBLIC_LIST, type ShownProfile } from '../profiles/field-values.ts';
import { BOARD_SIZE, PAGE_BOUNDS } from '../profiles/leaderboard/board-bounds.ts';

// The response bodies of the API. The types of the code that makes them and the OpenAPI document are derived from these
// schemas, and tests check every response against them. They are strict, so that a field which is not listed is an error.

const count = () => z.int().min(0);

/** UTC with milliseconds. */
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

/** The schema of each kind of public values, except whether it may be null. */
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

/** A link of a profile; optional fields without a value are absent, never null. */
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
  links: z.array(Link).describe('In the owner’s order; empty if there are none.'),
});

/** The parameter of a batch lookup that named a profile, with its decoded value; a UID is a number. */
export const Query = z.union([
  z.strictObject({ username: z.string() }),
  z.strictObject({ uid: z.int().min(1) }),
  z.strictObject({ authid: z.string() }),
]);

/** A profile of a batch lookup, with the parameter that named it. */
export const FoundProfile = z.strictObject({
  query: Query,
  profile: SimplifiedProfile,
});

/** The response to a batch lookup. */
export const FoundProfiles = z.strictObject({
  profiles: z.array(FoundProfile).describe('The profiles that were found, in the order requested.'),
  missing: z.array(Query).describe('The parameters that match no profile, in the order requested.'),
});

/** An entry of the leaderboard. */
export const LeaderboardEntry = z.strictObject({
  rank: z
    .int()
    .min(1)
    .max(BOARD_SIZE)
    .describe(
      'Competition rank over the whole leaderboard: profiles with equal view counts share a rank (1, 2, 2, 4).',
    ),
  ...SimplifiedProfile.shape,
});

/** A page of the leaderboard. */
export const LeaderboardPage = z.strictObject({
  leaderboard: z.array(LeaderboardEntry).max(PAGE_BOUNDS.maxLimit).describe('By views, then by UID.'),
  limit: z.int().min(PAGE_BOUNDS.minLimit).max(PAGE_BOUNDS.maxLimit).describe('As requested.'),
  offset: z.int().min(0).max(PAGE_BOUNDS.maxOffset).describe('As requested.'),
  total: z.int().min(0).max(BOARD_SIZE).describe(`The number of profiles on the leaderboard, at most ${BOARD_SIZE}.`),
});

/** One of a key's rate limits, with what is left of it. */
export const RateLimitLevel = z.strictObject({
  quota: z.int().min(1).max(RATE_LIMIT_BOUNDS.maxQuota).describe('The maximum number of requests in any window.'),
  windowSeconds: z.int().min(1).max(RATE_LIMIT_BOUNDS.maxWindowSeconds),
  remaining: count().max(RATE_LIMIT_BOUNDS.maxQuota).describe('The number of requests that would be admitted now.'),
  resetSeconds: count()
    .max(RATE_LIMIT_BOUNDS.maxWindowSeconds)
    .describe('The number of seconds in which no more than `remaining` requests are admitted.'),
});

/** The key of a request: its permissions, and what is left of its rate limits. */
export const OwnKey = z.strictObject({
  identifier: z
    .string()
    .regex(/^[0-9A-Za-z]{8}$/)
    .describe('Identifies the key; not the secret.'),
  name: z.string(),
  permissions: z.array(z.enum(PERMISSIONS)).min(1),
  rateLimits: z.array(RateLimitLevel).min(1).max(RATE_LIMIT_BOUNDS.maxPerKey),
  expiresAt: time().nullable().describe('When the key expires; null if it never does.'),
});

/** The response of a healthy server. */
export const Health = z.strictObject({ status: z.literal('ok') });

/** The body of every refusal. */
export const ErrorBody = z.strictObject({ error: z.string().describe('One sentence for people.') });

/** All bodies, by their names in the OpenAPI document. */
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
