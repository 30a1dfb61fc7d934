import { z } from 'zod';
import { ATTEMPT_RESULTS, KEY_EVENTS, KEY_STATES, PERMISSIONS } from '../db/key-columns.ts';
import { IDENTIFIER } from '../keys/list-cursor.ts';
import { USAGE_OUTCOMES, type UsageOutcome } from '../keys/usage-outcomes.ts';
import type { HistoryView, KeyView } from '../keys/view.ts';
import { RATE_LIMIT_BOUNDS } from '../limits/rate-limit.ts';

// The response bodies of `/manage/v1` about keys; a key is the object that `profilectl … --json` prints. Parsing a response
// with these schemas drops fields that a later version may have added.

const { maxPerKey, maxQuota, maxWindowSeconds } = RATE_LIMIT_BOUNDS;
const count = z.int().min(0);
const time = z.iso.datetime();

/** The identifier of a key or a token. */
export const Identifier = z.string().regex(IDENTIFIER);

/** The rate limits of a key. */
export const RateLimits = z
  .array(z.object({ quota: z.int().min(1).max(maxQuota), windowSeconds: z.int().min(1).max(maxWindowSeconds) }))
  .max(maxPerKey);

const permissions = z.array(z.enum(PERMISSIONS));

/** A key. */
export const Key = z.object({
  identifier: Identifier,
  profile: z.string().nullable().describe('The current username of its profile; null once the profile is erased.'),
  name: z.string(),
  description: z.string(),
  projectUrl: z.string().nullable(),
  expectedUsage: z.string().nullable(),
  state: z.enum(KEY_STATES),
  requestedPermissions: permissions,
  permissions: permissions.describe('The granted permissions; empty until the key is approved, like `rateLimits`.'),
  rateLimits: RateLimits,
  requestedAt: time,
  decidedAt: time.nullable(),
  expiresAt: time.nullable(),
  refusedFor: z
    .literal('ban')
    .nullable()
    .describe(
      '`ban` for an Active or suspended key while its profile is banned: all its requests are refused, whatever its state.',
    ),
  successorOf: Identifier.nullable().describe('The key that this one was requested to replace.'),
  addressChangedAt: time
    .nullable()
    .describe('For a pending key, when the e-mail address of its profile was last changed since the request.'),
  attempt: z
    .object({ number: count, by: z.string(), startedAt: time, result: z.enum(ATTEMPT_RESULTS) })
    .nullable()
    .describe('The latest attempt to approve it. While `result` is `open`, the mail with the secret is being sent.'),
}) satisfies z.ZodType<KeyView>;

const change = <T extends z.ZodType>(value: T) => z.object({ from: value, to: value }).exactOptional();

const text = z.string().exactOptional();

const Detail = z.object({
  reason: text,
  nameBefore: text,
  nameAfter: text,
  attempt: count.exactOptional(),
  isTemporary: z.literal(true).exactOptional(),
  changes: z
    .object({ permissions: change(permissions), rateLimits: change(RateLimits), expiresAt: change(time.nullable()) })
    .exactOptional(),
  successorOf: Identifier.exactOptional(),
  retiresOldAt: time.exactOptional(),
  successor: Identifier.exactOptional(),
  to: text,
});

const HistoryEntry = z.object({
  at: time,
  by: z.string(),
  event: z.enum(KEY_EVENTS),
  from: z.enum(KEY_STATES).nullable(),
  to: z.enum(KEY_STATES),
  detail: Detail.nullable(),
}) satisfies z.ZodType<HistoryView>;

/** A key with its history, the oldest entry first. */
export const KeyWithHistory = z.object({ ...Key.shape, history: z.array(HistoryEntry) });

/** A page of keys. */
export const KeyList = z.object({
  keys: z.array(Key),
  lastUses: z
    .record(z.string(), time)
    .describe('When each of these keys was last used, by identifier; keys that were never used are absent.'),
  next: Identifier.nullable().describe('The value of `after` for the next page; null on the last page.'),
});

/** The requests of a key, by day and outcome. */
export const KeyUsage = z.object({
  identifier: Identifier,
  days: z.array(
    z.object({
      day: z.iso.date(),
      ...(Object.fromEntries(USAGE_OUTCOMES.map((outcome) => [outcome, count])) as Record<UsageOutcome, typeof count>),
    }),
  ),
  lastUsedAt: time.nullable(),
});
