import { and, eq, isNull, max, ne, sql } from 'drizzle-orm';
import type { Access } from '../sessions-file/access.ts';
import { isLive } from '../sessions-file/live.ts';
import { tickets } from '../sessions-file/schema.ts';
import { readSessions } from '../sessions-file/sessions-file.ts';
import type { Decision } from './decision.ts';

/** Somebody who is about to decide on a key, since when (milliseconds since 1970), and what. */
export type Deciding = { name: string; operation: Decision['operation']; sinceMs: number };

/**
 * The other admins who are about to decide on a key: each was asked to confirm a decision with a passkey within the last
 * five minutes, and has not done it yet. Throws `busy`.
 */
export function othersDeciding(access: Access, identifier: string, admin: string): Deciding[] {
  const said = (member: keyof Decision) => sql<string>`json_extract(${tickets.about}, ${`$.${member}`})`;
  const isOpen = and(
    isNull(tickets.usedAt),
    isLive({ begunAt: tickets.madeAt, until: tickets.until }, access.clock.nowMs()),
  );
  const isOnKey = and(eq(said('identifier'), identifier), ne(said('operation'), 'remove passkey'));
  const rows = readSessions(access.sessions, (tables) =>
    tables
      .select({ name: tickets.admin, operation: said('operation'), sinceMs: max(tickets.madeAt) })
      .from(tickets)
      .where(and(eq(tickets.purpose, 'decision'), ne(tickets.admin, admin), isOpen, isOnKey))
      .groupBy(tickets.admin)
      .orderBy(max(tickets.madeAt))
      .all(),
  );
  return rows.flatMap(({ name, operation, sinceMs }) =>
    name === null || sinceMs === null ? [] : [{ name, operation, sinceMs }],
  );
}
