import { sql } from 'drizzle-orm';
import { check, index, integer, sqliteTable, text } from 'drizzle-orm/sqlite-core';
import type { ActorKind } from '../../actor.ts';
import type { Permission, StoredRateLimit } from './keys.ts';
import type { BackendRight } from './people.ts';
import { profiles } from './profiles.ts';

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
  rateLimits?: { from: StoredRateLimit[]; to: StoredRateLimit[] };
  expiresAt?: { from: string | null; to: string | null };
};

/** What an entry says besides who, when and about what. The erasure of a profile blanks that of its keys. */
export type EventData = {
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
export const events = sqliteTable(
  'events',
  {
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
    profileId: integer('profile_id').references(() => profiles.id, { onDelete: 'set null' }),
    data: text({ mode: 'json' }).$type<EventData>(),
  },
  (t) => [
    index('events_about').on(t.about, t.id),
    index('events_profile').on(t.profileId).where(sql`profile_id IS NOT NULL`),
    check('events_by_kind', sql`${t.byKind} IN ('operator', 'admin', 'owner', 'backend', 'service')`),
    check('events_subject', sql`${t.subject} IN ('key', 'admin', 'token', 'profile', 'database')`),
  ],
);
