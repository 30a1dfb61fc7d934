import { and, eq, gt, isNotNull, isNull, max, ne, sql } from 'drizzle-orm';
import { isLive } from '../db/live.ts';
import type { Access } from '../sessions-file/access.ts';
import { tickets } from '../sessions-file/schema.ts';
import { readSessions } from '../sessions-file/sessions-file.ts';
import type { SignedAdmin } from '../sessions-file/whose.ts';
import { type Decision, readDecisions } from './decision.ts';

/** An admin who is deciding on a key, the operation, and since when (milliseconds since 1970). */
export type Deciding = { name: string; operation: Decision['operation']; sinceMs: number };

/**
 * The other admins who are deciding on a key: within the last five minutes they were asked to confirm a decision with a
 * passkey, and have not done so yet.
 */
export function othersDeciding(access: Access, identifier: string, admin: string): Deciding[] {
  // Each challenge is for a list of decisions.
  const member = (path: 'operation' | 'input.identifier') => sql<string>`json_extract(decision.value, ${`$.${path}`})`;
  const decisions = sql`json_each(${tickets.about}) AS decision`;
  const isOpen = and(
    isNull(tickets.usedAt),
    isLive({ begunAt: tickets.madeAt, until: tickets.until }, access.clock.nowMs()),
  );
  const isOnKey = and(eq(member('input.identifier'), identifier), ne(member('operation'), 'remove passkey'));
  const rows = readSessions(access.sessions, (db) =>
    db
      .select({ name: tickets.admin, operation: member('operation'), sinceMs: max(tickets.madeAt) })
      .from(tickets)
      .innerJoin(decisions, sql`true`)
      .where(and(eq(tickets.purpose, 'decision'), ne(tickets.admin, admin), isOpen, isOnKey))
      .groupBy(tickets.admin)
      .orderBy(max(tickets.madeAt))
      .all(),
  );
  return rows.flatMap(({ name, operation, sinceMs }) =>
    name === null || sinceMs === null ? [] : [{ name, operation, sinceMs }],
  );
}

/** Decisions that one assertion has authorised, and when that was (milliseconds since 1970). */
export type Authorised = { decisions: readonly Decision[]; atMs: number };

/**
 * The decisions authorised by an admin's assertion with this id; null if it does not exist, is another admin's, or is
 * no longer stored.
 */
export function readAuthorised(access: Access, { name, generation }: SignedAdmin, id: number): Authorised | null {
  const isTheirs = and(eq(tickets.admin, name), eq(tickets.generation, generation));
  const isKept = and(isNotNull(tickets.usedAt), gt(tickets.keptUntil, access.clock.nowMs()));
  const row = readSessions(access.sessions, (db) =>
    db
      .select({ about: tickets.about, usedAt: tickets.usedAt })
      .from(tickets)
      .where(and(eq(tickets.id, id), eq(tickets.purpose, 'decision'), isTheirs, isKept))
      .get(),
  );
  return row?.usedAt ? { decisions: readDecisions(row.about), atMs: row.usedAt } : null;
}
