import { and, desc, eq, gt, inArray, isNull, or, type Placeholder, type SQL, sql } from 'drizzle-orm';
import type { Db } from '../db/connect.ts';
import { isLive } from '../db/live.ts';
import { keepQuery, placeholders } from '../db/prepared-query.ts';
import { type Purpose, tickets } from '../sessions-file/schema.ts';
import { columnsOf, isTheirs, type Signed, signedOf, type WhoseColumns } from '../sessions-file/whose.ts';
import { makeRoom } from './caps.ts';
import { purposesWith, rulesOf } from './purposes.ts';

// Tickets: one-time secrets of all kinds, each of which allows its bearer one action, once. Only the SHA-256 of each is
// stored. Functions run inside the caller's transaction on the sessions file; the caller reads the time within it.

/**
 * What a ticket is found by: the SHA-256 of the bearer's secret, and with a code also `proof`, the SHA-256 of both
 * together. A guess is tried only against the tickets found.
 */
export type TicketKey = { purpose: Purpose; foundBy: Buffer; proof?: Buffer };

/**
 * A ticket: its person, its subject, the time until which it works (milliseconds since 1970), and the id of the sign-in
 * that it became.
 */
export type Ticket = { id: number; signed: Signed; about: string; untilMs: number; madeInto: number | null };

const TICKET = {
  id: tickets.id,
  profileId: tickets.profileId,
  addressHash: tickets.addressHash,
  admin: tickets.admin,
  generation: tickets.generation,
  openedBy: tickets.openedBy,
  about: tickets.about,
  until: tickets.until,
  madeInto: tickets.madeInto,
};

/**
 * Makes a ticket for a person. Returns the time until which it works, in milliseconds since 1970. Throws the refusals
 * of its purpose's caps; the transaction must then be rolled back.
 */
export function makeTicket(
  tables: Db,
  { purpose, foundBy, proof }: TicketKey,
  { signed, about = '' }: { signed: Signed; about?: string },
  nowMs: number,
): number {
  const { lifetimeMs, tries, isReplaced } = rulesOf(purpose);
  makeRoom(tables, purpose, signed, nowMs);
  if (isReplaced === true) dropTicket(tables, { purpose, foundBy });
  const until = nowMs + lifetimeMs;
  const life = { madeAt: nowMs, until, keptUntil: until, triesLeft: tries };
  const row = { purpose, foundBy, proof: proof ?? null, about, ...columnsOf(signed), ...life };
  kept(tables).insert.run(row);
  return until;
}

/** Finds a working ticket without using it; null if there is none. */
export function readTicket(tables: Db, key: TicketKey, nowMs: number): Ticket | null {
  return ticketOf(kept(tables).read.get({ proof: null, ...key, nowMs }));
}

/** Finds a ticket, even a used or expired one; null if there is none. */
export function findTicket(tables: Db, key: TicketKey): Ticket | null {
  return ticketOf(kept(tables).find.get({ proof: null, ...key }));
}

/** A person's newest working ticket for a purpose; null if there is none. */
export function readTicketOf(tables: Db, purpose: Purpose, signed: Signed, nowMs: number): Ticket | null {
  const isWanted = and(eq(tickets.purpose, purpose), isTheirs(tickets, signed), works(nowMs));
  return ticketOf(tables.select(TICKET).from(tickets).where(isWanted).orderBy(desc(tickets.id)).limit(1).get());
}

/**
 * Uses up a ticket and returns it; of several attempts at once, only one succeeds. If no working ticket matches, uses
 * up one attempt of those that match without the proof, and returns null.
 */
export function useTicket(tables: Db, key: TicketKey, nowMs: number): Ticket | null {
  const { keptMs = 0 } = rulesOf(key.purpose);
  const used = ticketOf(kept(tables).use.get({ proof: null, ...key, nowMs, keptMs }));
  if (used === null) spendTry(tables, key);
  return used;
}

/** Uses up one attempt of all tickets with the same `foundBy`, whatever their proof. */
export function spendTry(tables: Db, { purpose, foundBy }: TicketKey): void {
  kept(tables).spendTry.run({ purpose, foundBy });
}

/** Records which sign-in a ticket became. */
export function noteMadeInto(tables: Db, { id }: Ticket, signInId: number): void {
  tables.update(tickets).set({ madeInto: signInId }).where(eq(tickets.id, id)).run();
}

/** Deletes the ticket with this key. */
export function dropTicket(tables: Db, key: TicketKey): void {
  kept(tables).drop.run({ proof: null, ...key });
}

/** Deletes the unused tickets among `whose` that would give access. */
export function endTickets(tables: Db, whose: SQL): void {
  const letIn = purposesWith(({ letsIn }) => letsIn === true);
  tables
    .delete(tickets)
    .where(and(whose, inArray(tickets.purpose, letIn), isNull(tickets.usedAt)))
    .run();
}

/** Whether a ticket is unused, not tried too often, and not expired. */
function works(nowMs: number | Placeholder): SQL | undefined {
  const hasTries = or(isNull(tickets.triesLeft), gt(tickets.triesLeft, 0));
  return and(isNull(tickets.usedAt), hasTries, isLive({ begunAt: tickets.madeAt, until: tickets.until }, nowMs));
}

/** The statements run at every request for a code, which strangers can make. */
const kept = keepQuery((tables) => {
  const { placeholder } = sql;
  const isFoundBy = and(eq(tickets.purpose, placeholder('purpose')), eq(tickets.foundBy, placeholder('foundBy')));
  const proof = placeholder('proof');
  const isRight = and(isFoundBy, sql`(${proof} IS NULL OR ${tickets.proof} = ${proof})`);
  // A ticket with a proof can't be used without it.
  const isProven = and(isFoundBy, sql`${tickets.proof} IS ${proof}`, works(placeholder('nowMs')));
  const keptUntil = sql`max(${tickets.keptUntil}, ${tickets.madeAt} + ${placeholder('keptMs')})`;
  const found = (isWanted: SQL | undefined) =>
    tables.select(TICKET).from(tickets).where(isWanted).orderBy(desc(tickets.id)).limit(1).prepare();
  return {
    find: found(isRight),
    read: found(and(isRight, works(placeholder('nowMs')))),
    drop: tables.delete(tickets).where(isRight).prepare(),
    use: tables
      .update(tickets)
      .set({ usedAt: sql`${placeholder('nowMs')}`, keptUntil })
      .where(isProven)
      .returning(TICKET)
      .prepare(),
    spendTry: tables
      .update(tickets)
      .set({ triesLeft: sql`${tickets.triesLeft} - 1` })
      .where(and(isFoundBy, isNull(tickets.usedAt), gt(tickets.triesLeft, 0)))
      .prepare(),
    insert: tables
      .insert(tickets)
      .values({
        ...placeholders('purpose', 'foundBy', 'proof', 'about', 'madeAt', 'until', 'keptUntil', 'triesLeft'),
        ...placeholders('profileId', 'addressHash', 'admin', 'generation', 'openedBy'),
      })
      .prepare(),
  };
});

type Row = Omit<Ticket, 'signed' | 'untilMs'> & WhoseColumns & { until: number };

function ticketOf(row: Row | undefined): Ticket | null {
  if (row === undefined) return null;
  const { id, about, until, madeInto } = row;
  return { id, signed: signedOf(row), about, untilMs: until, madeInto };
}
