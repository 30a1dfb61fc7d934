import { type SQL, sql } from 'drizzle-orm';
import {
  type AnySQLiteColumn,
  blob,
  check,
  index,
  integer,
  primaryKey,
  sqliteTable,
  text,
  uniqueIndex,
} from 'drizzle-orm/sqlite-core';

// The tables of the sessions file. Times are milliseconds since 1970 (UTC). Tokens, codes, challenges and URLs that
// give access are stored only as their SHA-256. The SQL adds what Drizzle can't express: STRICT and WITHOUT
// ROWID.

/** The purpose of a one-time secret. */
export type Purpose = 'sign-in code' | 'hand-over' | 'enrolment' | 'registration' | 'used challenge';

/** Values about the file itself: `key` is its random key (`fileKey`). */
export const settings = sqliteTable('settings', {
  name: text().primaryKey(),
  value: blob({ mode: 'buffer' }).notNull(),
});

/** Browsers in which an owner has signed in, by the SHA-256 of a cookie. A browser may know several owners. */
export const knownBrowsers = sqliteTable(
  'known_browsers',
  {
    tokenHash: blob('token_hash', { mode: 'buffer' }).notNull(),
    profileId: integer('profile_id').notNull(),
    generation: integer().notNull(),
    addressHash: blob('address_hash', { mode: 'buffer' }).notNull(),
    signedInAt: integer('signed_in_at').notNull(),
  },
  (t) => [
    primaryKey({ columns: [t.tokenHash, t.profileId] }),
    index('known_browsers_signed_in').on(t.signedInAt),
    check('known_browsers_token_hash', sql`length(${t.tokenHash}) = 32`),
    check('known_browsers_address_hash', sql`length(${t.addressHash}) = 32`),
  ],
);

/** When sign-in mails were requested, by a keyed hash of what is counted. */
export const mailCounts = sqliteTable(
  'mail_counts',
  {
    id: integer().primaryKey(),
    countedUnder: blob('counted_under', { mode: 'buffer' }).notNull(),
    at: integer().notNull(),
  },
  (t) => [
    index('mail_counts_under').on(t.countedUnder, t.at),
    index('mail_counts_at').on(t.at),
    check('mail_counts_counted_under', sql`length(${t.countedUnder}) = 32`),
  ],
);

/** When backends' tokens were last used, with a precision of a minute. */
export const tokenUses = sqliteTable('token_uses', {
  identifier: text().primaryKey(),
  usedAt: integer('used_at').notNull(),
});

/**
 * Pending notifications of owners about sign-ins. They are added in the transaction of the sign-in, and moved to the
 * main database usually within milliseconds.
 */
export const pendingSignInNotices = sqliteTable(
  'untold_sign_ins',
  {
    id: integer().primaryKey(),
    profileId: integer('profile_id').notNull(),
    generation: integer().notNull(),
    addressHash: blob('address_hash', { mode: 'buffer' }).notNull(),
    at: integer().notNull(),
    clientAddress: text('client_address').notNull(),
    clientAgent: text('client_agent').notNull(),
  },
  (t) => [check('untold_sign_ins_address_hash', sql`length(${t.addressHash}) = 32`)],
);

/**
 * The person of a ticket or a sign-in: an owner (`profileId`, `generation` and `addressHash`) or an admin (`admin` and
 * `generation`). `openedBy` is the identifier of the backend's token that handed the owner over.
 */
const WHOSE = () => ({
  profileId: integer('profile_id'),
  addressHash: blob('address_hash', { mode: 'buffer' }),
  admin: text(),
  generation: integer().notNull(),
  openedBy: text('opened_by'),
});

type WhoseColumns = Record<'profileId' | 'addressHash' | 'admin', AnySQLiteColumn>;

function belongsToOnePerson({ profileId, addressHash, admin }: WhoseColumns): SQL {
  return sql`(${profileId} IS NULL) = (${addressHash} IS NULL) AND (${profileId} IS NULL) <> (${admin} IS NULL)`;
}

/**
 * One-time secrets, found by the SHA-256 of the bearer's secret; `shared/tickets/purposes.ts` defines the meaning of
 * the columns for each purpose, and the lifetime. `profile_id` is 0 if a code was requested for a name and an e-mail
 * address that match no profile: nobody receives that code.
 */
export const tickets = sqliteTable(
  'tickets',
  {
    id: integer().primaryKey(),
    purpose: text().$type<Purpose>().notNull(),
    foundBy: blob('found_by', { mode: 'buffer' }).notNull(),
    /**
     * SHA-256 of the bearer's secret and a code together, so that somebody who can read the file can't try all codes.
     */
    proof: blob({ mode: 'buffer' }),
    ...WHOSE(),
    /** The subject as text; empty if the purpose is enough. */
    about: text().notNull(),
    madeAt: integer('made_at').notNull(),
    until: integer().notNull(),
    /** When the row can be deleted. */
    keptUntil: integer('kept_until').notNull(),
    usedAt: integer('used_at'),
    /** Null if the secret is too long to be guessed. */
    triesLeft: integer('tries_left'),
  },
  (t) => [
    uniqueIndex('tickets_one_each').on(t.purpose, t.foundBy),
    index('tickets_profile').on(t.profileId).where(sql`profile_id IS NOT NULL`),
    index('tickets_admin').on(t.admin).where(sql`admin IS NOT NULL`),
    check(
      'tickets_purpose',
      sql`${t.purpose} IN ('sign-in code', 'hand-over', 'enrolment', 'registration', 'used challenge')`,
    ),
    check('tickets_found_by', sql`length(${t.foundBy}) = 32`),
    check('tickets_proof', sql`length(${t.proof}) = 32`),
    check('tickets_address_hash', sql`length(${t.addressHash}) = 32`),
    check('tickets_whose', belongsToOnePerson(t)),
    check('tickets_tries_left', sql`${t.triesLeft} >= 0`),
  ],
);

/**
 * Sign-ins of browsers. Ended and expired ones stay for 30 days, so that people
 * see where they were signed in.
 */
export const signIns = sqliteTable(
  'sign_ins',
  {
    id: integer().primaryKey({ autoIncrement: true }),
    tokenHash: blob('token_hash', { mode: 'buffer' }).notNull(),
    ...WHOSE(),
    startedAt: integer('started_at').notNull(),
    lastUsedAt: integer('last_used_at').notNull(),
    /** When it expires unless it is used again; never later than `endsAt`. */
    idleUntil: integer('idle_until').notNull(),
    /** When it expires, however much it is used. */
    endsAt: integer('ends_at').notNull(),
    endedAt: integer('ended_at'),
    clientAddress: text('client_address').notNull(),
    clientAgent: text('client_agent').notNull(),
  },
  (t) => [
    uniqueIndex('sign_ins_token_hash').on(t.tokenHash),
    index('sign_ins_profile').on(t.profileId).where(sql`profile_id IS NOT NULL`),
    index('sign_ins_admin').on(t.admin).where(sql`admin IS NOT NULL`),
    check('sign_ins_token_hash', sql`length(${t.tokenHash}) = 32`),
    check('sign_ins_address_hash', sql`length(${t.addressHash}) = 32`),
    check('sign_ins_whose', belongsToOnePerson(t)),
    check('sign_ins_idle', sql`${t.idleUntil} <= ${t.endsAt}`),
  ],
);
