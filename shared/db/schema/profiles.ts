import { sql } from 'drizzle-orm';
import { check, index, integer, primaryKey, sqliteTable, text, uniqueIndex } from 'drizzle-orm/sqlite-core';
import type { ActorKind } from '../../actor.ts';

// Times are milliseconds since 1970 (UTC). JSON columns hold the compact output of JSON.stringify. The SQL adds what
// Drizzle can't express: STRICT, WITHOUT ROWID and triggers.

/**
 * Profiles without their names and links. `shared/profiles/fields.ts` defines the meaning of each column, and which are
 * public.
 */
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
    /** Private: decides whether the leaderboard may list the profile. */
    showOnLeaderboard: integer('show_on_leaderboard', { mode: 'boolean' }).notNull().default(true),
    createdAt: integer('created_at').notNull(),
    /** Private: the user's id in the customer's sign-in. */
    authId: text('auth_id'),
    /** Private: the owner's e-mail address. */
    email: text(),
    /**
     * Distinguishes the row from an earlier one with the same id: a random number of 53 bits that INSERT draws and
     * UPDATE never changes. Sign-ins are bound to it.
     */
    generation: integer().notNull().default(0),
    /**
     * How many times the e-mail address has changed by more than letter case. Sign-ins are bound to it, so that none of them is valid
     * again when a former address is restored.
     */
    addressChanges: integer('address_changes').notNull().default(0),
    /**
     * When the row, its names or its links were last written, or confirmed by a backend or a command: lines of a file
     * that was read earlier are skipped (`shared/profiles/edit/newer.ts`). 0 in rows of some commits before version
     * 0.1.0.
     */
    writtenAt: integer('written_at').notNull().default(0),
  },
  (t) => [
    uniqueIndex('profiles_auth_id').on(t.authId),
    index('profiles_board').on(sql`${t.viewsCount} DESC`, t.id).where(sql`banned = 0 AND show_on_leaderboard = 1`),
    index('profiles_banned').on(t.id).where(sql`banned = 1`),
    check('profiles_id', sql`${t.id} BETWEEN 1 AND 9007199254740991`),
    check('profiles_banned', sql`${t.banned} IN (0, 1)`),
    check('profiles_show_followers_count', sql`${t.showFollowersCount} IN (0, 1)`),
    check('profiles_show_on_leaderboard', sql`${t.showOnLeaderboard} IN (0, 1)`),
    check('profiles_views_count', sql`${t.viewsCount} BETWEEN 0 AND 9007199254740991`),
    check('profiles_followers_count', sql`${t.followersCount} BETWEEN 0 AND 9007199254740991`),
    check('profiles_badges', sql`json_type(${t.badges}) = 'array'`),
    check('profiles_assets', sql`json_type(${t.assets}) = 'object'`),
    check('profiles_customize', sql`json_type(${t.customize}) = 'object'`),
    check('profiles_discord_clean', sql`json_type(${t.discordClean}) = 'object'`),
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

/** Which profiles each of the latest transactions changed (`shared/db/changes.ts`); `seq` is never reused. */
export const profileChanges = sqliteTable('profile_changes', {
  seq: integer().primaryKey({ autoIncrement: true }),
  /** Null if any profile may have changed. */
  profileIds: text('profile_ids', { mode: 'json' }).$type<number[]>(),
});

/** Single facts about the database (`shared/db/facts.ts`). */
export const facts = sqliteTable('facts', { name: text().primaryKey(), value: text().notNull() });

/**
 * Profiles erased in the last 40 days (`shared/db/erasures.ts`), so that a file that was read earlier does not restore
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

/** A table with at most one row: the last import of a kind that ended and changed something. */
function lastImportTable<Name extends string>(name: Name) {
  return sqliteTable(
    name,
    {
      id: integer().primaryKey(),
      at: integer().notNull(),
      by: text().notNull(),
      byKind: text('by_kind').$type<ActorKind>().notNull(),
      /** The number of lines that it read, and of those that it refused. */
      lines: integer().notNull(),
      refused: integer().notNull(),
    },
    (t) => [
      check(`${name}_id`, sql`${t.id} = 1`),
      check(`${name}_by_kind`, sql`${t.byKind} IN ('operator', 'admin', 'owner', 'backend', 'service')`),
      check(`${name}_lines`, sql`${t.refused} BETWEEN 0 AND ${t.lines}`),
    ],
  );
}

/** The last import (`shared/profiles/last-import.ts`) by anybody but a backend. */
export const lastImport = lastImportTable('last_import');

/** The last import by a backend. Backends send profiles every few seconds, which would hide the nightly imports. */
export const lastFeed = lastImportTable('last_feed');
