import { sql } from 'drizzle-orm';
import {
  type AnySQLiteColumn,
  blob,
  check,
  index,
  integer,
  primaryKey,
  real,
  sqliteTable,
  text,
  uniqueIndex,
} from 'drizzle-orm/sqlite-core';
import type { ActorKind } from '../../actor.ts';
import { profiles } from './profiles.ts';

// Times are milliseconds since 1970 (UTC). JSON columns hold the compact output of JSON.stringify. The SQL adds what
// Drizzle can't express: STRICT, WITHOUT ROWID and triggers.

/** The states that are stored. */
export const STORED_STATES = ['pending', 'Active', 'suspended', 'rejected', 'withdrawn', 'revoked'] as const;

export type StoredState = (typeof STORED_STATES)[number];

/** The states of an API key, spelled so everywhere. `expired` is computed from the clock (`stateAt`), and never stored. */
export const KEY_STATES = [...STORED_STATES, 'expired'] as const;

export type KeyState = (typeof KEY_STATES)[number];

/** The permissions of keys, in display order. */
export const PERMISSIONS = ['api.lookup', 'api.leaderboard'] as const;

/** `api.lookup` grants every lookup and links endpoint, `api.leaderboard` the leaderboard only. */
export type Permission = (typeof PERMISSIONS)[number];

/** The result of an approval attempt. An `open` attempt whose lease has expired counts as `not confirmed`. */
export const ATTEMPT_RESULTS = ['open', 'accepted', 'refused', 'not confirmed', 'voided'] as const;

export type AttemptResult = (typeof ATTEMPT_RESULTS)[number];

/** A stored rate limit: `quota` requests in any window of `windowSeconds` seconds. */
export type StoredRateLimit = { quota: number; windowSeconds: number };

/** API keys. Rows are never deleted; an erased profile's keys keep identifier, times and state, and lose the rest. */
export const apiKeys = sqliteTable(
  'api_keys',
  {
    identifier: text().primaryKey(),
    /** Null once the profile is erased. */
    profileId: integer('profile_id').references(() => profiles.id, { onDelete: 'set null' }),
    name: text().notNull(),
    description: text().notNull(),
    projectUrl: text('project_url'),
    expectedUsage: text('expected_usage'),
    state: text().$type<StoredState>().notNull(),
    requestedPermissions: text('requested_permissions', { mode: 'json' }).$type<Permission[]>().notNull(),
    /** The grant: null until approved. */
    permissions: text({ mode: 'json' }).$type<Permission[]>(),
    rateLimits: text('rate_limits', { mode: 'json' }).$type<StoredRateLimit[]>(),
    requestedAt: integer('requested_at').notNull(),
    decidedAt: integer('decided_at'),
    expiresAt: integer('expires_at'),
    /** SHA-256 of the secret; present exactly while the key is Active or suspended. */
    secretHash: blob('secret_hash', { mode: 'buffer' }),
    /** The fence: an attempt to approve the key activates it only if this is still the attempt's number. */
    attemptNumber: integer('attempt_number').notNull().default(0),
    /** Random, and drawn anew with each entry of the history. */
    revision: text().notNull().default(sql`(lower(hex(randomblob(8))))`),
    /** The key that this one was requested to replace: Active at that time, and of the same profile. Never changed. */
    successorOf: text('successor_of').references((): AnySQLiteColumn => apiKeys.identifier),
    /** What admins find the key by (`shared/keys/search.ts`). */
    searched: text().notNull().default(''),
    searchedAddress: text('searched_address'),
  },
  (t) => [
    index('api_keys_profile').on(t.profileId),
    index('api_keys_state').on(t.state, t.requestedAt),
    index('api_keys_expires').on(t.state, t.expiresAt).where(sql`expires_at IS NOT NULL`),
    check('api_keys_identifier', sql`length(${t.identifier}) = 8 AND ${t.identifier} NOT GLOB '*[^0-9A-Za-z]*'`),
    check('api_keys_state', sql`${t.state} IN ('pending', 'Active', 'suspended', 'rejected', 'withdrawn', 'revoked')`),
    check('api_keys_owner', sql`${t.profileId} IS NOT NULL OR ${t.state} NOT IN ('pending', 'Active', 'suspended')`),
    check('api_keys_name', sql`length(${t.name}) BETWEEN 1 AND 255 OR (${t.name} = '' AND ${t.profileId} IS NULL)`),
    check(
      'api_keys_description',
      sql`length(${t.description}) BETWEEN 80 AND 2000 OR (${t.description} = '' AND ${t.profileId} IS NULL)`,
    ),
    check('api_keys_project_url', sql`length(${t.projectUrl}) <= 2048`),
    check('api_keys_expected_usage', sql`length(${t.expectedUsage}) <= 1000`),
    check('api_keys_secret', sql`(${t.state} IN ('Active', 'suspended')) = (${t.secretHash} IS NOT NULL)`),
    check('api_keys_secret_hash', sql`length(${t.secretHash}) = 32`),
    check(
      'api_keys_grant',
      sql`${t.state} NOT IN ('Active', 'suspended', 'revoked') OR (${t.permissions} IS NOT NULL AND ${t.rateLimits} IS NOT NULL)`,
    ),
    check('api_keys_decided', sql`(${t.state} = 'pending') = (${t.decidedAt} IS NULL)`),
    check('api_keys_attempt_number', sql`${t.attemptNumber} >= 0`),
  ],
);

/**
 * Approval attempts: who tried to mail which grant to which e-mail address, and the result. A key has at most one open
 * attempt.
 */
export const keyAttempts = sqliteTable(
  'key_attempts',
  {
    identifier: text()
      .notNull()
      .references(() => apiKeys.identifier),
    number: integer().notNull(),
    by: text().notNull(),
    /** What kind of actor `by` names. */
    byKind: text('by_kind').$type<ActorKind>().notNull().default('operator'),
    startedAt: integer('started_at').notNull(),
    leaseEndsAt: integer('lease_ends_at').notNull(),
    /** Private; null once the profile is erased. */
    address: text(),
    permissions: text({ mode: 'json' }).$type<Permission[]>().notNull(),
    rateLimits: text('rate_limits', { mode: 'json' }).$type<StoredRateLimit[]>().notNull(),
    expiresAt: integer('expires_at'),
    result: text().$type<AttemptResult>().notNull(),
    /** The latest expiry of the replaced key once this attempt is accepted; null leaves that key alone. */
    retireOldAt: integer('retire_old_at'),
  },
  (t) => [
    primaryKey({ columns: [t.identifier, t.number] }),
    uniqueIndex('key_attempts_open').on(t.identifier).where(sql`result = 'open'`),
    check('key_attempts_result', sql`${t.result} IN ('open', 'accepted', 'refused', 'not confirmed', 'voided')`),
    check('key_attempts_by_kind', sql`${t.byKind} IN ('operator', 'admin', 'owner', 'backend', 'service')`),
    check('key_attempts_number', sql`${t.number} >= 1`),
  ],
);

/** What keys have spent of their rate limits, as a log of short rows (`shared/limits/stored.ts`). */
export const keyQuotas = sqliteTable('key_quotas', {
  id: integer().primaryKey(),
  at: real().notNull(),
  spent: text().notNull(),
});

/**
 * The usage of keys: one row for each key and day (UTC) with requests, which counts their outcomes. Kept for 400 days.
 */
export const keyUsage = sqliteTable(
  'key_usage',
  {
    identifier: text()
      .notNull()
      .references(() => apiKeys.identifier),
    /** Days since 1970-01-01. */
    day: integer().notNull(),
    ok: integer().notNull(),
    notFound: integer('not_found').notNull(),
    forbidden: integer().notNull(),
    malformed: integer().notNull(),
    limited: integer().notNull(),
    failed: integer().notNull(),
    lastUsedAt: integer('last_used_at').notNull(),
  },
  (t) => [
    primaryKey({ columns: [t.identifier, t.day] }),
    index('key_usage_day').on(t.day),
    index('key_usage_limited').on(t.day, t.limited).where(sql`limited > 0`),
    check(
      'key_usage_counts',
      sql`min(${t.ok}, ${t.notFound}, ${t.forbidden}, ${t.malformed}, ${t.limited}, ${t.failed}) >= 0`,
    ),
  ],
);

/** The usage of all keys by day, because adding up ten thousand keys would take a page half a second. */
export const usageDays = sqliteTable('usage_days', {
  day: integer().primaryKey(),
  ok: integer().notNull(),
  notFound: integer('not_found').notNull(),
  forbidden: integer().notNull(),
  malformed: integer().notNull(),
  limited: integer().notNull(),
  failed: integer().notNull(),
});
