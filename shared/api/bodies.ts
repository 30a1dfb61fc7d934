import { z } from 'zod';
import { PERMISSIONS } from '../db/schema.ts';
import { RATE_LIMIT_BOUNDS } from '../limits/rate-limit.ts';
import { BOARD_SIZE, PAGE_BOUNDS } from '../profiles/board.ts';
import { Badge, FIELDS, LINK_FIELDS, schemasOf, shownTime } from '../profiles/fields.ts';

// The response bodies of the API. The types of the code that makes them and the OpenAPI document are derived from these
// schemas, and tests check every response against them. They are strict, so that a field which is not listed is an error.

const count = () => z.int().min(0);

/** A public profile. */
export const SimplifiedProfile = z.strictObject(described(FIELDS));

/** A link of a profile; optional fields without a value are absent, never null. */
const Link = z.strictObject(described(LINK_FIELDS));

/** The schemas of public fields, with what they mean. */
function described<T extends Parameters<typeof schemasOf>[0] & Record<string, { meaning: string }>>(fields: T) {
  const schemas = schemasOf(fields, 'shown');
  const entries = Object.entries<z.ZodType>(schemas).map(([name, schema]) => [
    name,
    schema.describe(fields[name]?.meaning ?? ''),
  ]);
  return Object.fromEntries(entries) as typeof schemas;
}

/** The links of a profile. */
const Links = z.strictObject({
  links: z.array(Link).describe('In the owner’s order; empty if there are none.'),
});

/**
 * The parameter of a batch lookup that named a profile, with its decoded value; a UID is a number. Not a union: clients that
 * generators make from one refuse whatever is not its last part.
 */
const Query = z
  .strictObject({ username: z.string(), uid: z.int().min(1), authid: z.string() })
  .partial()
  .meta({ minProperties: 1, maxProperties: 1 });

/** A profile of a batch lookup, with the parameter that named it. */
const FoundProfile = z.strictObject({
  query: Query,
  profile: SimplifiedProfile,
});

/** The response to a batch lookup. */
export const FoundProfiles = z.strictObject({
  profiles: z.array(FoundProfile).describe('The profiles that were found, in the order requested.'),
  missing: z.array(Query).describe('The parameters that match no profile, in the order requested.'),
});

/** An entry of the leaderboard. */
const LeaderboardEntry = z.strictObject({
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
const LeaderboardPage = z.strictObject({
  leaderboard: z.array(LeaderboardEntry).max(PAGE_BOUNDS.maxLimit).describe('By views, then by UID.'),
  limit: z.int().min(PAGE_BOUNDS.minLimit).max(PAGE_BOUNDS.maxLimit).describe('As requested.'),
  offset: z.int().min(0).max(PAGE_BOUNDS.maxOffset).describe('As requested.'),
  total: z.int().min(0).max(BOARD_SIZE).describe(`The number of profiles on the leaderboard, at most ${BOARD_SIZE}.`),
});

/** One of a key's rate limits, with what is left of it. */
const RateLimitLevel = z.strictObject({
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
  expiresAt: shownTime().nullable().describe('When the key expires; null if it never does.'),
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
