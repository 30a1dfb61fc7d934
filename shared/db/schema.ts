import { sql } from 'drizzle-orm';
import {
  type AnySQLiteColumn,
  blob,
  check,
  foreignKey,
  index,
  integer,
  primaryKey,
  sqliteTable,
  text,
  uniqueIndex,
} from 'drizzle-orm/sqlite-core';
import type { ActorKind } from '../actor.ts';
import type { AttemptResult, KeyEventName, KeyState, NoticeKind, NoticeResult, Permission } from './key-columns.ts';
import type { PeopleEventName, PlatformRight } from './people-columns.ts';

/** A rate limit as it is stored: `quota` requests in any window of so many seconds. */
export type StoredRateLimit = { quota: number; windowSeconds: number };

// Times are milliseconds since 1970 (UTC). JSON columns hold compact JSON text as JSON.stringify writes it.
// The migrations add what drizzle-kit can't say: STRICT, WITHOUT ROWID and the triggers.

/** A profile's own columns. What each means, and which are public, stands in `shared/profiles/fields.ts`. */
export const profiles = sqliteTable(
  'profiles',
  {
    id: integer().primaryKey(),
    username: text().notNull(),
    displayName: text('display_name').notNull(),
    badges: text().notNull(),
    assets: text().notNull(),
    customize: text().notNull(),
    discordId: text('discord_id'),
    discordClean: text('discord_clean').notNull(),
    banned: integer({ mode: 'boolean' }).notNull(),
    viewsCount: integer('views_count').notNull(),
    followersCount: integer('followers_count').notNull(),
    /** Private: decides whether `followersCount` is shown. */
    showFollowersCount: integer('show_followers_count', { mode: 'boolean' }).notNull(),
    createdAt: integer('created_at').notNull(),
    /** Private: the identity that the platform's sign-in gave. */
    authId: text('auth_id'),
    /** Private: where the owner is reached. */
    email: text(),
    /**
     * Tells an inserted row from an earlier one with the same id: a random number of 53 bits that INSERT draws and no UPDATE
     * changes; 0 in rows that are older than this column. Sign-ins are bound to it.
     */
    generation: integer().notNull().default(0),
  },
  (t) => [
    uniqueIndex('profiles_auth_id').on(t.authId),
    index('profiles_board').on(sql`${t.viewsCount} DESC`, t.id).where(sql`banned = 0`),
    check('profiles_id', sql`${t.id} BETWEEN 1 AND 9007199254740991`),
    check('profiles_banned', sql`${t.banned} IN (0, 1)`),
    check('profiles_show_followers_count', sql`${t.showFollowersCount} IN (0, 1)`),
    check('profiles_views_count', sql`${t.viewsCount} BETWEEN 0 AND 9007199254740991`),
    check('profiles_followers_count', sql`${t.followersCount} BETWEEN 0 AND 9007199254740991`),
    check('profiles_badges', sql`json_type(${t.badges}) = 'array'`),
    check('profiles_assets', sql`json_type(${t.assets}) = 'object'`),
    check('profiles_customize', sql`json_type(${t.customize}) = 'object'`),
    check('profiles_discord_clean', sql`json_type(${t.discordClean}) = 'object'`),
  ],
);

/** Usernames and aliases, one namespace: the folded form is the key. Position 0 is the username, then the aliases in order. */
export const profileNames = sqliteTable(
  'profile_names',
  {
    folded: text().primaryKey(),
    profileId: integer('profile_id')
      .notNull()
      .references(() => profiles.id, { onDelete: 'cascade' }),
    position: integer().notNull(),
    name: text().notNull(),
  },
  (t) => [
    uniqueIndex('profile_names_profile').on(t.profileId, t.position),
    check('profile_names_folded', sql`length(${t.folded}) BETWEEN 1 AND 64`),
    check('profile_names_name', sql`length(${t.name}) BETWEEN 1 AND 64`),
    check('profile_names_position', sql`${t.position} >= 0`),
  ],
);

/** A profile's links in the owner's order. */
export const links = sqliteTable(
  'links',
  {
    profileId: integer('profile_id')
      .notNull()
      .references(() => profiles.id, { onDelete: 'cascade' }),
    position: integer().notNull(),
    id: text().notNull(),
    name: text().notNull(),
    link: text().notNull(),
    title: text(),
    image: text(),
    clicksCount: integer('clicks_count'),
    linkMode: text('link_mode'),
  },
  (t) => [
    primaryKey({ columns: [t.profileId, t.position] }),
    check('links_position', sql`${t.position} >= 0`),
    check('links_clicks_count', sql`${t.clicksCount} >= 0`),
  ],
);

/** Which profiles each of the latest transactions changed (`shared/db/changes.ts`); `seq` never comes again. */
export const profileChanges = sqliteTable('profile_changes', {
  seq: integer().primaryKey({ autoIncrement: true }),
  /** Null where any profile may have changed. */
  profileIds: text('profile_ids', { mode: 'json' }).$type<number[]>(),
});

/**
 * Transactions that erased profiles (`shared/db/erasures.ts`): the latest that a VACUUM has covered, and all since. A row
 * tells when, and nothing of who was erased.
 */
export const erasures = sqliteTable('erasures', {
  seq: integer().primaryKey(),
  at: integer().notNull(),
  /** Null while copies of erased texts may be left in unused parts of the file. */
  vacuumedAt: integer('vacuumed_at'),
});

/** The last import that came to its end and changed something (`shared/profiles/last-import.ts`): one row, or none. */
export const lastImport = sqliteTable(
  'last_import',
  {
    id: integer().primaryKey(),
    at: integer().notNull(),
    by: text().notNull(),
    byKind: text('by_kind').$type<ActorKind>().notNull(),
    /** How many lines it read, and how many of them it refused. */
    lines: integer().notNull(),
    refused: integer().notNull(),
  },
  (t) => [
    check('last_import_id', sql`${t.id} = 1`),
    check('last_import_by_kind', sql`${t.byKind} IN ('operator', 'admin', 'owner', 'platform', 'service')`),
    check('last_import_lines', sql`${t.refused} BETWEEN 0 AND ${t.lines}`),
  ],
);

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
    state: text().$type<KeyState>().notNull(),
    requestedPermissions: text('requested_permissions', { mode: 'json' }).$type<Permission[]>().notNull(),
    /** The grant: null until approved. */
    permissions: text({ mode: 'json' }).$type<Permission[]>(),
    rateLimits: text('rate_limits', { mode: 'json' }).$type<StoredRateLimit[]>(),
    requestedAt: integer('requested_at').notNull(),
    decidedAt: integer('decided_at'),
    expiresAt: integer('expires_at'),
    /** SHA-256 of the secret; present exactly while the key is Active. */
    secretHash: blob('secret_hash', { mode: 'buffer' }),
    /** The fence: an approval activates only while its own number stands here. */
    attemptNumber: integer('attempt_number').notNull().default(0),
    /** The key that this one was requested to replace: Active then, and of the same profile. Never changed. */
    successorOf: text('successor_of').references((): AnySQLiteColumn => apiKeys.identifier),
  },
  (t) => [
    index('api_keys_profile').on(t.profileId),
    index('api_keys_state').on(t.state, t.requestedAt),
    check('api_keys_identifier', sql`length(${t.identifier}) = 8 AND ${t.identifier} NOT GLOB '*[^0-9A-Za-z]*'`),
    check('api_keys_state', sql`${t.state} IN ('pending', 'Active', 'rejected', 'withdrawn', 'revoked', 'expired')`),
    check('api_keys_owner', sql`${t.profileId} IS NOT NULL OR ${t.state} NOT IN ('pending', 'Active')`),
    check('api_keys_name', sql`length(${t.name}) BETWEEN 1 AND 255 OR (${t.name} = '' AND ${t.profileId} IS NULL)`),
    check(
      'api_keys_description',
      sql`length(${t.description}) BETWEEN 80 AND 2000 OR (${t.description} = '' AND ${t.profileId} IS NULL)`,
    ),
    check('api_keys_project_url', sql`length(${t.projectUrl}) <= 2048`),
    check('api_keys_expected_usage', sql`length(${t.expectedUsage}) <= 1000`),
    check('api_keys_secret', sql`(${t.state} = 'Active') = (${t.secretHash} IS NOT NULL)`),
    check('api_keys_secret_hash', sql`length(${t.secretHash}) = 32`),
    check(
      'api_keys_grant',
      sql`${t.state} NOT IN ('Active', 'revoked', 'expired') OR (${t.permissions} IS NOT NULL AND ${t.rateLimits} IS NOT NULL)`,
    ),
    check('api_keys_decided', sql`(${t.state} = 'pending') = (${t.decidedAt} IS NULL)`),
    check('api_keys_attempt_number', sql`${t.attemptNumber} >= 0`),
  ],
);

/** Approval attempts: who tried to mail which grant where, and what came of it. At most one is open for a key. */
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
    /** When the key that this one succeeds ends at the latest, once this attempt is accepted; null leaves it alone. */
    retireOldAt: integer('retire_old_at'),
  },
  (t) => [
    primaryKey({ columns: [t.identifier, t.number] }),
    uniqueIndex('key_attempts_open').on(t.identifier).where(sql`result = 'open'`),
    check('key_attempts_result', sql`${t.result} IN ('open', 'accepted', 'refused', 'not confirmed', 'voided')`),
    check('key_attempts_by_kind', sql`${t.byKind} IN ('operator', 'admin', 'owner', 'platform', 'service')`),
    check('key_attempts_number', sql`${t.number} >= 1`),
  ],
);

/** What was changed of a key, from what to what; times are ISO 8601 in UTC, null where there is no expiry. */
export type KeyChanges = {
  permissions?: { from: Permission[]; to: Permission[] };
  rateLimits?: { from: StoredRateLimit[]; to: StoredRateLimit[] };
  expiresAt?: { from: string | null; to: string | null };
};

/** What `key_events.detail` may say; blanked, and nothing else, when the profile is erased. */
export type KeyEventDetail = {
  reason?: string;
  nameBefore?: string;
  nameAfter?: string;
  attempt?: number;
  changes?: KeyChanges;
  /** The key that this one was requested to replace. */
  successorOf?: string;
  /** The expiry that the approval of this key gave to the one that it succeeds. */
  retiresOldAt?: string;
  /** The key whose approval changed the expiry of this one. */
  successor?: string;
  /** The mail that was not delivered, and whom it was for. */
  mail?: NoticeKind;
  to?: string;
};

/** The history of every key: append-only, held so by triggers. */
export const keyEvents = sqliteTable(
  'key_events',
  {
    id: integer().primaryKey({ autoIncrement: true }),
    identifier: text().notNull(),
    at: integer().notNull(),
    by: text().notNull(),
    /** What kind of actor `by` names. */
    byKind: text('by_kind').$type<ActorKind>().notNull().default('operator'),
    event: text().$type<KeyEventName>().notNull(),
    fromState: text('from_state').$type<KeyState>(),
    toState: text('to_state').$type<KeyState>().notNull(),
    detail: text({ mode: 'json' }).$type<KeyEventDetail>(),
  },
  (t) => [
    index('key_events_identifier').on(t.identifier, t.id),
    foreignKey({ columns: [t.identifier], foreignColumns: [apiKeys.identifier] }),
    check('key_events_by_kind', sql`${t.byKind} IN ('operator', 'admin', 'owner', 'platform', 'service')`),
  ],
);

/** What a key was used for, a row for each day (UTC) on which it was: requests by how they ended. Kept 400 days. */
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
    check(
      'key_usage_counts',
      sql`min(${t.ok}, ${t.notFound}, ${t.forbidden}, ${t.malformed}, ${t.limited}, ${t.failed}) >= 0`,
    ),
  ],
);

/**
 * What a notice tells of. About a key: the entry of its history, or the step of a reminder (so many days before the expiry
 * that the key had then, milliseconds since 1970). About a profile: from where somebody has signed in, or the address that
 * the profile had before. About nobody's key or profile: the admin who enrolled, and from where. It is
 * emptied once a notice that is not about a key is over, since it names an address.
 */
export type NoticeAbout =
  | { event: number }
  | { stepDays: number; expiresAt: number }
  | { address: string; agent: string }
  | { formerEmail: string }
  | { admin: string; address: string };

/**
 * Mails without a secret, one row a recipient, stored in the transaction that they tell of (`shared/notices/`). A mail is
 * written and addressed when it is sent: neither text nor address is stored, but for what `about` says of those that are
 * not about a key. Most are about a key, some about a profile, and the enrolment of an admin is about neither.
 */
export const notices = sqliteTable(
  'notices',
  {
    id: integer().primaryKey({ autoIncrement: true }),
    identifier: text().references(() => apiKeys.identifier),
    profileId: integer('profile_id').references(() => profiles.id, { onDelete: 'cascade' }),
    kind: text().$type<NoticeKind>().notNull(),
    /** `owner`, `former address`, or `admin 1` for the first address of ADMIN_EMAIL. */
    recipient: text().notNull(),
    about: text({ mode: 'json' }).$type<NoticeAbout>().notNull(),
    at: integer().notNull(),
    /** How often sending it was begun. */
    tries: integer().notNull().default(0),
    /** Nobody tries it before: after a failure for a pause, while it is being sent for a lease. */
    nextTryAt: integer('next_try_at').notNull(),
    result: text().$type<NoticeResult>().notNull().default('waiting'),
    /** Why it is not delivered, as a sentence without addresses; null before the first failure and once accepted. */
    fault: text(),
    /** When the mail server accepted it; null before, and where that was before this was stored. */
    sentAt: integer('sent_at'),
  },
  (t) => [
    index('notices_key').on(t.identifier, t.recipient, t.id),
    index('notices_profile').on(t.profileId, t.recipient, t.id),
    // Changed addresses come last, since one import may change very many.
    index('notices_waiting').on(sql`(kind = 'address')`, t.nextTryAt).where(sql`result = 'waiting'`),
    index('notices_requests').on(t.recipient, t.sentAt).where(sql`kind = 'request'`),
    check('notices_tries', sql`${t.tries} >= 0`),
    check('notices_result', sql`${t.result} IN ('waiting', 'accepted', 'refused', 'dropped', 'moot')`),
    check(
      'notices_subject',
      sql`(${t.identifier} IS NOT NULL) + (${t.profileId} IS NOT NULL) = (${t.kind} <> 'enrolment')`,
    ),
  ],
);

/** Admins of the Developer Platform. One counts only while at least one passkey of it is confirmed. */
export const admins = sqliteTable(
  'admins',
  {
    id: integer().primaryKey({ autoIncrement: true }),
    name: text().notNull(),
    folded: text().notNull(),
    /** Drawn anew when everything that the admin signed in with ends: sessions and invitations are bound to it. */
    generation: integer().notNull(),
    /** What passkeys know their owner by: random bytes, no secret. */
    userHandle: blob('user_handle', { mode: 'buffer' }).notNull(),
    addedAt: integer('added_at').notNull(),
  },
  (t) => [
    uniqueIndex('admins_folded').on(t.folded),
    check('admins_name', sql`length(${t.name}) BETWEEN 1 AND 64`),
    check('admins_user_handle', sql`length(${t.userHandle}) = 32`),
  ],
);

/** Passkeys of admins; each has its public key only. */
export const passkeys = sqliteTable(
  'passkeys',
  {
    id: integer().primaryKey({ autoIncrement: true }),
    adminId: integer('admin_id')
      .notNull()
      .references(() => admins.id),
    credentialId: blob('credential_id', { mode: 'buffer' }).notNull(),
    /** DER of a SubjectPublicKeyInfo. */
    publicKey: blob('public_key', { mode: 'buffer' }).notNull(),
    signCount: integer('sign_count').notNull(),
    isBackupEligible: integer('is_backup_eligible', { mode: 'boolean' }).notNull(),
    /** What its owner calls it. */
    name: text().notNull(),
    registeredAt: integer('registered_at').notNull(),
    /** The client's address, and what its browser called itself. */
    registeredFrom: text('registered_from').notNull(),
    registeredBy: text('registered_by').notNull(),
    /** Null until somebody on the box has confirmed it; nobody signs in with it before. */
    confirmedAt: integer('confirmed_at'),
    lastUsedAt: integer('last_used_at'),
  },
  (t) => [
    uniqueIndex('passkeys_credential_id').on(t.credentialId),
    index('passkeys_admin').on(t.adminId),
    uniqueIndex('passkeys_unconfirmed').on(t.adminId).where(sql`confirmed_at IS NULL`),
    check('passkeys_credential_id', sql`length(${t.credentialId}) BETWEEN 1 AND 1023`),
    check('passkeys_sign_count', sql`${t.signCount} BETWEEN 0 AND 4294967295`),
    check('passkeys_is_backup_eligible', sql`${t.isBackupEligible} IN (0, 1)`),
    check('passkeys_name', sql`length(${t.name}) BETWEEN 1 AND 64`),
  ],
);

/** What `people_events.detail` may say. */
export type PeopleEventDetail = {
  /** The name of the passkey. */
  passkey?: string;
  /** How many passkeys ended with it. */
  endedPasskeys?: number;
  /** The identifier of the platform's token, and what it may do. */
  token?: string;
  rights?: PlatformRight[];
  withoutAddress?: boolean;
  eraseLimit?: number;
};

/** Tokens of backends, which act in the name of the platform; only the SHA-256 of each is here. */
export const platformTokens = sqliteTable(
  'platform_tokens',
  {
    identifier: text().primaryKey(),
    name: text().notNull(),
    folded: text().notNull(),
    tokenHash: blob('token_hash', { mode: 'buffer' }).notNull(),
    rights: text({ mode: 'json' }).$type<PlatformRight[]>().notNull(),
    /** Whether its lines leave `email`, `authId` and `banned` of profiles alone. */
    isWithoutAddress: integer('is_without_address', { mode: 'boolean' }).notNull(),
    /** How many profiles the tokens of this name may erase on a day (UTC), all together; each asks for its own limit. */
    eraseLimit: integer('erase_limit').notNull(),
    addedAt: integer('added_at').notNull(),
  },
  (t) => [
    index('platform_tokens_folded').on(t.folded),
    check('platform_tokens_identifier', sql`length(${t.identifier}) = 8`),
    check('platform_tokens_name', sql`length(${t.name}) BETWEEN 1 AND 64`),
    check('platform_tokens_token_hash', sql`length(${t.tokenHash}) = 32`),
    check('platform_tokens_rights', sql`json_array_length(${t.rights}) > 0`),
    check('platform_tokens_is_without_address', sql`${t.isWithoutAddress} IN (0, 1)`),
    check('platform_tokens_erase_limit', sql`${t.eraseLimit} >= 0`),
  ],
);

/** How many profiles the tokens of a name have erased on a day, which is counted from 1970 (UTC). */
export const platformErasures = sqliteTable(
  'platform_erasures',
  {
    folded: text().notNull(),
    day: integer().notNull(),
    erased: integer().notNull(),
  },
  (t) => [primaryKey({ columns: [t.folded, t.day] }), check('platform_erasures_erased', sql`${t.erased} >= 0`)],
);

/** What was decided about people who may do more than others: append-only, held so by triggers. No address stands in it. */
export const peopleEvents = sqliteTable(
  'people_events',
  {
    id: integer().primaryKey({ autoIncrement: true }),
    at: integer().notNull(),
    by: text().notNull(),
    /** What kind of actor `by` names. */
    byKind: text('by_kind').$type<ActorKind>().notNull(),
    event: text().$type<PeopleEventName>().notNull(),
    /** Whom it is about. */
    kind: text().$type<'admin' | 'platform'>().notNull(),
    name: text().notNull(),
    detail: text({ mode: 'json' }).$type<PeopleEventDetail>(),
  },
  (t) => [
    check('people_events_by_kind', sql`${t.byKind} IN ('operator', 'admin', 'owner', 'platform', 'service')`),
    check('people_events_kind', sql`${t.kind} IN ('admin', 'platform')`),
  ],
);
