import { sql } from 'drizzle-orm';
import { check, index, integer, real, sqliteTable, text, uniqueIndex } from 'drizzle-orm/sqlite-core';

// Times are milliseconds since 1970 (UTC). JSON columns hold the compact output of JSON.stringify. The SQL adds what
// Drizzle can't express: STRICT, WITHOUT ROWID and triggers.

/**
 * Profiles without their names. What clients see is stored as it is served; columns that SQLite searches or sorts by are
 * generated from it. `shared/profiles/fields.ts` defines the fields.
 */
export const profiles = sqliteTable(
  'profiles',
  {
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
  },
  (t) => [
    uniqueIndex('profiles_auth_id').on(t.authId),
    index('profiles_board').on(sql`${t.views} DESC`, t.id).where(sql`banned = 0 AND show_on_leaderboard = 1`),
    index('profiles_banned').on(t.id).where(sql`banned = 1`),
    check('profiles_id', sql`${t.id} BETWEEN 1 AND 9007199254740991`),
    check('profiles_banned', sql`${t.banned} IN (0, 1)`),
    check('profiles_show_followers_count', sql`${t.showFollowersCount} IN (0, 1)`),
    check('profiles_show_on_leaderboard', sql`${t.showOnLeaderboard} IN (0, 1)`),
    check('profiles_followers_count', sql`${t.followersCount} >= 0`),
  ],
);

/**
 * Usernames and aliases share one namespace, whose key is the folded form. Position 0 is the username; the aliases
 * follow in order.
 */
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

/** Single facts about the database (`shared/db/facts.ts`). */
export const facts = sqliteTable('facts', { name: text().primaryKey(), value: text().notNull() });

/**
 * Profiles erased in the last 40 days (`shared/db/facts.ts`), so that a file that was read earlier does not restore
 * them.
 */
export const erasedProfiles = sqliteTable(
  'erased_profiles',
  {
    id: integer().primaryKey(),
    /** When it was erased; for a line of an import with --as-of, the time that the option names. */
    at: integer().notNull(),
  },
  (t) => [index('erased_profiles_at').on(t.at)],
);
