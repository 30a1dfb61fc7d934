import { sql } from 'drizzle-orm';
import { blob, integer, real, sqliteTable, text } from 'drizzle-orm/sqlite-core';
import type { ActorKind } from '../actor.ts';
import type { RateLimit } from '../limits/rate-limit.ts';

// The columns of all tables with their types, and the words that they store. The tables themselves, with keys, references,
// checks, indexes and triggers, are in drizzle/0001.sql; a test compares the columns. Times are milliseconds since 1970 (UTC).
// JSON columns hold the compact output of JSON.stringify.

/**
 * Profiles without their names. What clients see is stored as it is served; columns that SQLite searches or sorts by are
 * generated from it. `shared/profiles/fields.ts` defines the fields.
 */
export const profiles = sqliteTable('profiles', {
  id: integer().primaryKey(),
  /** A random number of 53 bits, drawn anew when a name, the address, the auth ID or the ban changes. */
  revision: integer().notNull(),
  /**
   * When the profile was last written, or confirmed by a backend or a command: lines of a file that was read earlier
   * are skipped (`isNewer` in `shared/profiles/apply.ts`).
   */
  writtenAt: integer('written_at').notNull(),
  /** The true number; what clients see may hide it. */
  followersCount: real('followers_count').notNull(),
  showFollowersCount: integer('show_followers_count', { mode: 'boolean' }).notNull(),
  showOnLeaderboard: integer('show_on_leaderboard', { mode: 'boolean' }).notNull(),
  authId: text('auth_id'),
  email: text(),
  /** The SimplifiedProfile, and `{"links":[…]}`. */
  profile: text().notNull(),
  links: text().notNull(),
  username: text().notNull().generatedAlwaysAs(sql`profile ->> 'username'`, { mode: 'virtual' }),
  banned: integer({ mode: 'boolean' }).notNull().generatedAlwaysAs(sql`profile ->> 'banned'`, { mode: 'virtual' }),
  /** REAL, because counts need not be integers. */
  views: real().notNull().generatedAlwaysAs(sql`profile ->> 'viewsCount'`, { mode: 'virtual' }),
});

/**
 * Usernames and aliases share one namespace, whose key is the folded form. Position 0 is the username; the aliases
 * follow in order.
 */
export const profileNames = sqliteTable('profile_names', {
  folded: text().primaryKey(),
  profileId: integer('profile_id').notNull(),
  position: integer().notNull(),
  name: text().notNull(),
});

/** Single facts about the database (`shared/db/facts.ts`). */
export const facts = sqliteTable('facts', { name: text().primaryKey(), value: text().notNull() });

/**
 * Profiles erased in the last 40 days (`shared/erasure.ts`), so that a file that was read earlier does not restore
 * them.
 */
export const erasedProfiles = sqliteTable('erased_profiles', {
  id: integer().primaryKey(),
  /** When it was erased; for a line of an import with --as-of, the time that the option names. */
  at: integer().notNull(),
});

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

/** API keys. Rows are never deleted; an erased profile's keys keep identifier, times and state, and lose the rest. */
export const apiKeys = sqliteTable('api_keys', {
  identifier: text().primaryKey(),
  /** Null once the profile is erased. */
  profileId: integer('profile_id'),
  name: text().notNull(),
  description: text().notNull(),
  projectUrl: text('project_url'),
  expectedUsage: text('expected_usage'),
  state: text().$type<StoredState>().notNull(),
  requestedPermissions: text('requested_permissions', { mode: 'json' }).$type<Permission[]>().notNull(),
  /** The grant: null until approved. */
  permissions: text({ mode: 'json' }).$type<Permission[]>(),
  rateLimits: text('rate_limits', { mode: 'json' }).$type<RateLimit[]>(),
  requestedAt: integer('requested_at').notNull(),
  decidedAt: integer('decided_at'),
  expiresAt: integer('expires_at'),
  /** SHA-256 of the secret; present exactly in the states of `SECRET_HOLDERS`. */
  secretHash: blob('secret_hash', { mode: 'buffer' }),
  /** The fence: an attempt to approve the key activates it only if this is still the attempt's number. */
  attemptNumber: integer('attempt_number').notNull().default(0),
  /** Random, and drawn anew with each entry of the history. */
  revision: text().notNull().default(sql`(lower(hex(randomblob(8))))`),
  /** The key that this one was requested to replace: Active at that time, and of the same profile. Never changed. */
  successorOf: text('successor_of'),
  /** What admins find the key by (`shared/keys/search.ts`). */
  searched: text().notNull().default(''),
  searchedAddress: text('searched_address'),
});

/**
 * Approval attempts: who tried to mail which grant to which e-mail address, and the result. A key has at most one open
 * attempt.
 */
export const keyAttempts = sqliteTable('key_attempts', {
  identifier: text().notNull(),
  number: integer().notNull(),
  by: text().notNull(),
  /** What kind of actor `by` names. */
  byKind: text('by_kind').$type<ActorKind>().notNull().default('operator'),
  startedAt: integer('started_at').notNull(),
  leaseEndsAt: integer('lease_ends_at').notNull(),
  /** Private; null once the profile is erased. */
  address: text(),
  permissions: text({ mode: 'json' }).$type<Permission[]>().notNull(),
  rateLimits: text('rate_limits', { mode: 'json' }).$type<RateLimit[]>().notNull(),
  expiresAt: integer('expires_at'),
  result: text().$type<AttemptResult>().notNull(),
  /** The latest expiry of the replaced key once this attempt is accepted; null leaves that key alone. */
  retireOldAt: integer('retire_old_at'),
});

/** What keys have spent of their rate limits, as a log of short rows (`shared/limits/stored.ts`). */
export const keyQuotas = sqliteTable('key_quotas', {
  id: integer().primaryKey(),
  at: real().notNull(),
  spent: text().notNull(),
});

/** The columns that count requests by their outcome. */
const OUTCOMES = {
  ok: integer().notNull(),
  notFound: integer('not_found').notNull(),
  forbidden: integer().notNull(),
  malformed: integer().notNull(),
  limited: integer().notNull(),
  failed: integer().notNull(),
};

/**
 * The usage of keys: one row for each key and day (UTC) with requests, which counts their outcomes. Kept for 400 days.
 */
export const keyUsage = sqliteTable('key_usage', {
  identifier: text().notNull(),
  /** Days since 1970-01-01. */
  day: integer().notNull(),
  ...OUTCOMES,
  lastUsedAt: integer('last_used_at').notNull(),
});

/** The usage of all keys by day, because adding up ten thousand keys would take a page half a second. */
export const usageDays = sqliteTable('usage_days', {
  day: integer().primaryKey(),
  ...OUTCOMES,
});

/** What a backend's token may do: send profiles, and sign its users in as owners. */
export const BACKEND_RIGHTS = ['profiles', 'sign-ins'] as const;

/** A right of a backend's token. */
export type BackendRight = (typeof BACKEND_RIGHTS)[number];

/** Admins of the Developer Platform. An admin counts only with at least one passkey. */
export const admins = sqliteTable('admins', {
  id: integer().primaryKey({ autoIncrement: true }),
  name: text().notNull(),
  folded: text().notNull(),
  /** The user handle in passkeys: random bytes, not secret. */
  userHandle: blob('user_handle', { mode: 'buffer' }).notNull(),
  addedAt: integer('added_at').notNull(),
});

/** Passkeys of admins, with only the public keys. */
export const passkeys = sqliteTable('passkeys', {
  id: integer().primaryKey({ autoIncrement: true }),
  adminId: integer('admin_id').notNull(),
  credentialId: blob('credential_id', { mode: 'buffer' }).notNull(),
  /** COSE, as SimpleWebAuthn returns it. */
  publicKey: blob('public_key', { mode: 'buffer' }).notNull(),
  signCount: integer('sign_count').notNull(),
  isBackupEligible: integer('is_backup_eligible', { mode: 'boolean' }).notNull(),
  name: text().notNull(),
  registeredAt: integer('registered_at').notNull(),
  /** The client's IP address, and the browser's user agent. */
  registeredFrom: text('registered_from').notNull(),
  registeredBy: text('registered_by').notNull(),
  lastUsedAt: integer('last_used_at'),
});

/** Tokens of backends, one for each name; only the SHA-256 of each is stored. */
export const backendTokens = sqliteTable('backend_tokens', {
  identifier: text().primaryKey(),
  name: text().notNull(),
  folded: text().notNull(),
  tokenHash: blob('token_hash', { mode: 'buffer' }).notNull(),
  rights: text({ mode: 'json' }).$type<BackendRight[]>().notNull(),
  /** Whether its lines leave the profiles' `email`, `authId` and `banned` unchanged. */
  excludesContactFields: integer('is_without_address', { mode: 'boolean' }).notNull(),
  addedAt: integer('added_at').notNull(),
  /** To the minute. */
  lastUsedAt: integer('last_used_at'),
  /** The latest day, counted from 1970-01-01 (UTC), on which it erased profiles, and how many. */
  erasedOn: integer('erased_on').notNull().default(0),
  erased: integer().notNull().default(0),
});

// Tokens, codes, challenges and links that give access are stored only as their SHA-256. Rows go with the profile, the admin or
// the backend's token to which they belong, and an owner's also when the address of the profile changes (a trigger).

/** The purpose of a one-time secret: `shared/sign-in/tickets.ts` has the rules of each. */
export type TicketKind = 'code' | 'hand-over' | 'enrolment' | 'registration' | 'passkey';

const belongsTo = () => ({
  profileId: integer('profile_id'),
  adminId: integer('admin_id'),
  /** The backend's token that handed the owner over. */
  openedBy: text('opened_by'),
});

/** Browsers in which somebody is signed in, found by the SHA-256 of their cookie; ended ones are deleted. */
export const signIns = sqliteTable('sign_ins', {
  id: integer().primaryKey({ autoIncrement: true }),
  tokenHash: blob('token_hash', { mode: 'buffer' }).notNull(),
  ...belongsTo(),
  startedAt: integer('started_at').notNull(),
  lastUsedAt: integer('last_used_at').notNull(),
  /** When it expires unless it is used again; never later than `endsAt`. */
  idleUntil: integer('idle_until').notNull(),
  /** When it expires, however much it is used. */
  endsAt: integer('ends_at').notNull(),
  clientAddress: text('client_address').notNull(),
  clientAgent: text('client_agent').notNull(),
});

/**
 * One-time secrets, found by the SHA-256 of the bearer's secret. Those of a code that was asked for with a name and an
 * address that don't match, and challenges for signing in with a passkey, belong to nobody.
 */
export const tickets = sqliteTable('tickets', {
  hash: blob({ mode: 'buffer' }).primaryKey(),
  kind: text().$type<TicketKind>().notNull(),
  /** SHA-256 of the browser's secret and the code together, so that whoever reads the file can't try all codes. */
  proof: blob({ mode: 'buffer' }),
  ...belongsTo(),
  until: integer().notNull(),
  /** Null if the secret is too long to be guessed. */
  triesLeft: integer('tries_left'),
});

/** The value of `to` that stands for `ADMIN_WEBHOOK_URL`; no address is spelled so. */
export const WEBHOOK = 'webhook';

/** What became of a mail. `refused` for good by the mail server; `dropped` after three days, or by a restore. */
export const MAIL_RESULTS = ['waiting', 'accepted', 'refused', 'dropped'] as const;

export type MailResult = (typeof MAIL_RESULTS)[number];

/**
 * Composed mails without a secret, and posts to the webhook, stored in the transaction that they report
 * (`shared/mail/outbox.ts`). Times are milliseconds since 1970.
 */
export const mails = sqliteTable('mails', {
  id: integer().primaryKey({ autoIncrement: true }),
  /** Whom it is about; null if it is about an admin. */
  profileId: integer('profile_id'),
  identifier: text(),
  kind: text().notNull(),
  /** An e-mail address, or {@link WEBHOOK}; null is the profile's address at the time of sending. */
  to: text(),
  subject: text().notNull(),
  body: text().notNull(),
  at: integer().notNull(),
  tries: integer().notNull().default(0),
  nextTryAt: integer('next_try_at').notNull(),
  result: text().$type<MailResult>().notNull().default('waiting'),
  /** Why it is undelivered, as a sentence without addresses. */
  fault: text(),
});

/** The entries by what they are about. Those of a key are its history. */
export const EVENTS = {
  key: [
    ...['requested', 'approval started', 'approval refused', 'approval not confirmed', 'approved'],
    ...['rejected', 'withdrawn', 'suspended', 'resumed', 'revoked', 'edited', 'changed'],
    ...['address changed', 'profile banned', 'profile unbanned', 'erased'],
  ],
  admin: ['added', 'passkey registered', 'passkey removed', 'removed', 'left out', 'restored'],
  token: ['added', 'removed', 'left out', 'restored'],
  profile: ['banned', 'unbanned', 'erased'],
  database: ['restored'],
} as const;

/** What an entry is about. */
export type Subject = keyof typeof EVENTS;

/** The name of an entry about such a subject. */
export type EventName<About extends Subject = Subject> = (typeof EVENTS)[About][number];

/** The name of an entry of a key's history. */
export type KeyEventName = EventName<'key'>;

/** The changes to a key; times are ISO 8601 in UTC, null for no expiry. */
export type KeyChanges = {
  permissions?: { from: Permission[]; to: Permission[] };
  rateLimits?: { from: RateLimit[]; to: RateLimit[] };
  expiresAt?: { from: string | null; to: string | null };
};

/** What an entry says besides who, when and about what. The erasure of a profile blanks that of its keys. */
export type EventData = {
  /** What the actor wrote. */
  reason?: string;
  nameBefore?: string;
  nameAfter?: string;
  attempt?: number;
  /** Of a refused mail: the mail server said to try again. */
  isTemporary?: true;
  changes?: KeyChanges;
  /** The key that this one was requested to replace. */
  successorOf?: string;
  /** The expiry that this key's approval gave to the replaced key. */
  retiresOldAt?: string;
  successor?: string;
  /** The name of a passkey. */
  passkey?: string;
  /** The number of passkeys removed with the admin. */
  endedPasskeys?: number;
  /** The name of the backend whose token it is about. */
  backend?: string;
  rights?: BackendRight[];
  withoutAddress?: boolean;
  /** The number of profiles that one transaction erased, if there were several. */
  count?: number;
};

/**
 * The one history of keys, profiles, admins and tokens: append-only, which triggers enforce. It has no addresses. An erasure
 * takes out the profile and blanks `data`, nothing else.
 */
export const events = sqliteTable('events', {
  id: integer().primaryKey({ autoIncrement: true }),
  /** Milliseconds since 1970. */
  at: integer().notNull(),
  by: text().notNull(),
  /** What kind of actor `by` names. */
  byKind: text('by_kind').$type<ActorKind>().notNull(),
  subject: text().$type<Subject>().notNull(),
  event: text().$type<EventName>().notNull(),
  /** The identifier of the key or token, or the admin's name; null for profiles and the database. */
  about: text(),
  /** The profile, or that of the key; null for others, and once it is erased. */
  profileId: integer('profile_id'),
  data: text({ mode: 'json' }).$type<EventData>(),
});
