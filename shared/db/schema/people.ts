import { sql } from 'drizzle-orm';
import { blob, check, index, integer, sqliteTable, text, uniqueIndex } from 'drizzle-orm/sqlite-core';

// Times are milliseconds since 1970 (UTC). JSON columns hold the compact output of JSON.stringify. The SQL adds what
// Drizzle can't express: STRICT, WITHOUT ROWID and triggers.

/** What a backend's token may do: send profiles, and sign its users in as owners. */
export const BACKEND_RIGHTS = ['profiles', 'sign-ins'] as const;

/** A right of a backend's token. */
export type BackendRight = (typeof BACKEND_RIGHTS)[number];

/** Admins of the Developer Platform. An admin counts only with at least one passkey. */
export const admins = sqliteTable(
  'admins',
  {
    id: integer().primaryKey({ autoIncrement: true }),
    name: text().notNull(),
    folded: text().notNull(),
    /** The user handle in passkeys: random bytes, not secret. */
    userHandle: blob('user_handle', { mode: 'buffer' }).notNull(),
    addedAt: integer('added_at').notNull(),
  },
  (t) => [
    uniqueIndex('admins_folded').on(t.folded),
    check('admins_name', sql`length(${t.name}) BETWEEN 1 AND 64`),
    check('admins_user_handle', sql`length(${t.userHandle}) = 32`),
  ],
);

/** Passkeys of admins, with only the public keys. */
export const passkeys = sqliteTable(
  'passkeys',
  {
    id: integer().primaryKey({ autoIncrement: true }),
    adminId: integer('admin_id')
      .notNull()
      .references(() => admins.id, { onDelete: 'cascade' }),
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
  },
  (t) => [
    uniqueIndex('passkeys_credential_id').on(t.credentialId),
    index('passkeys_admin').on(t.adminId),
    check('passkeys_credential_id', sql`length(${t.credentialId}) BETWEEN 1 AND 1023`),
    check('passkeys_sign_count', sql`${t.signCount} BETWEEN 0 AND 4294967295`),
    check('passkeys_is_backup_eligible', sql`${t.isBackupEligible} IN (0, 1)`),
    check('passkeys_name', sql`length(${t.name}) BETWEEN 1 AND 64`),
  ],
);

/** Tokens of backends, one for each name; only the SHA-256 of each is stored. */
export const backendTokens = sqliteTable(
  'backend_tokens',
  {
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
  },
  (t) => [
    uniqueIndex('backend_tokens_folded').on(t.folded),
    check('backend_tokens_identifier', sql`length(${t.identifier}) = 8`),
    check('backend_tokens_name', sql`length(${t.name}) BETWEEN 1 AND 64`),
    check('backend_tokens_token_hash', sql`length(${t.tokenHash}) = 32`),
    check('backend_tokens_rights', sql`json_array_length(${t.rights}) > 0`),
    check('backend_tokens_is_without_address', sql`${t.excludesContactFields} IN (0, 1)`),
    check('backend_tokens_erased', sql`${t.erased} >= 0`),
  ],
);
