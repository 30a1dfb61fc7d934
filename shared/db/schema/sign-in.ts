import { sql } from 'drizzle-orm';
import { blob, check, index, integer, sqliteTable, text, uniqueIndex } from 'drizzle-orm/sqlite-core';
import { admins, backendTokens } from './people.ts';
import { profiles } from './profiles.ts';

// Times are milliseconds since 1970 (UTC). Tokens, codes, challenges and links that give access are stored only as
// their SHA-256. Rows go with the profile, the admin or the backend's token to which they belong, and an owner's also
// when the address of the profile changes (a trigger). The SQL adds what Drizzle can't express: STRICT, WITHOUT ROWID
// and the trigger.

/** The purpose of a one-time secret: `shared/sign-in/tickets.ts` has the rules of each. */
export type TicketKind = 'code' | 'hand-over' | 'enrolment' | 'registration' | 'passkey';

const belongsTo = () => ({
  profileId: integer('profile_id').references(() => profiles.id, { onDelete: 'cascade' }),
  adminId: integer('admin_id').references(() => admins.id, { onDelete: 'cascade' }),
  /** The backend's token that handed the owner over. */
  openedBy: text('opened_by').references(() => backendTokens.identifier, { onDelete: 'cascade' }),
});

/** Browsers in which somebody is signed in, found by the SHA-256 of their cookie; ended ones are deleted. */
export const signIns = sqliteTable(
  'sign_ins',
  {
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
  },
  (t) => [
    uniqueIndex('sign_ins_token_hash').on(t.tokenHash),
    index('sign_ins_profile').on(t.profileId),
    index('sign_ins_admin').on(t.adminId),
    index('sign_ins_opened_by').on(t.openedBy),
    index('sign_ins_idle_until').on(t.idleUntil),
    check('sign_ins_token_hash', sql`length(${t.tokenHash}) = 32`),
    check('sign_ins_whose', sql`(${t.profileId} IS NULL) <> (${t.adminId} IS NULL)`),
    check('sign_ins_idle', sql`${t.idleUntil} <= ${t.endsAt}`),
  ],
);

/**
 * One-time secrets, found by the SHA-256 of the bearer's secret. Those of a code that was asked for with a name and an
 * address that don't match, and challenges for signing in with a passkey, belong to nobody.
 */
export const tickets = sqliteTable(
  'tickets',
  {
    hash: blob({ mode: 'buffer' }).primaryKey(),
    kind: text().$type<TicketKind>().notNull(),
    /** SHA-256 of the browser's secret and the code together, so that whoever reads the file can't try all codes. */
    proof: blob({ mode: 'buffer' }),
    ...belongsTo(),
    until: integer().notNull(),
    /** Null if the secret is too long to be guessed. */
    triesLeft: integer('tries_left'),
  },
  (t) => [
    // Not partial: a row of nobody costs what a row of a profile costs.
    index('tickets_profile').on(t.profileId),
    index('tickets_admin').on(t.adminId).where(sql`admin_id IS NOT NULL`),
    index('tickets_opened_by').on(t.openedBy).where(sql`opened_by IS NOT NULL`),
    index('tickets_until').on(t.until),
    check('tickets_hash', sql`length(${t.hash}) = 32`),
    check('tickets_kind', sql`${t.kind} IN ('code', 'hand-over', 'enrolment', 'registration', 'passkey')`),
    check('tickets_proof', sql`length(${t.proof}) = 32`),
    check('tickets_tries_left', sql`${t.triesLeft} >= 0`),
  ],
);
