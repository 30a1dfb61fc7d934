import { sql } from 'drizzle-orm';
import { check, index, integer, sqliteTable, text } from 'drizzle-orm/sqlite-core';
import type { ActorKind } from '../../actor.ts';
import type { ServiceEventName } from '../people-columns.ts';
import { profiles } from './profiles.ts';

// Times are milliseconds since 1970 (UTC). drizzle/main adds what Drizzle can't express: STRICT, WITHOUT ROWID and
// triggers.

/**
 * Actions on profiles and on the database that the log shows: bans, erasures and restores. Append-only, which triggers
 * enforce, except for the id of a profile, which its erasure removes.
 */
export const serviceEvents = sqliteTable(
  'service_events',
  {
    id: integer().primaryKey({ autoIncrement: true }),
    at: integer().notNull(),
    by: text().notNull(),
    /** What kind of actor `by` names. */
    byKind: text('by_kind').$type<ActorKind>().notNull(),
    event: text().$type<ServiceEventName>().notNull(),
    /** The profile that was banned or unbanned; null for other events, and once it is erased. */
    profileId: integer('profile_id').references(() => profiles.id, { onDelete: 'set null' }),
    /** The number of profiles that one transaction erased; 1 for other events. */
    count: integer().notNull().default(1),
  },
  (t) => [
    index('service_events_profile').on(t.profileId).where(sql`profile_id IS NOT NULL`),
    check('service_events_by_kind', sql`${t.byKind} IN ('operator', 'admin', 'owner', 'backend', 'service')`),
    check('service_events_event', sql`${t.event} IN ('banned', 'unbanned', 'erased', 'restored')`),
    check('service_events_count', sql`${t.count} > 0`),
  ],
);
