import { and, count, desc, eq, gt, inArray, isNull, min, or, type Placeholder, type SQL, sql } from 'drizzle-orm';
import type { Db } from '../db/connect.ts';
import { keepQuery, placeholders } from '../db/prepared-query.ts';
import { AppError } from '../errors.ts';
import { type Purpose, tickets } from '../sessions-file/schema.ts';
import { columnsOf, isTheirs, type Signed, signedOf, type WhoseColumns } from '../sessions-file/whose.ts';
import { purposesWith, rulesOf } from './purposes.ts';

// Tickets: one-time secrets of all kinds, each of which allows its bearer one action, once. Only their SHA-256 is
// stored. Functions run inside the caller's transaction on the sessions file, in which the caller reads the time.

/**
 * The key of a ticket: the SHA-256 of the bearer's secret, and with a code also `proof`, the SHA-256 of both together.
 * A guess counts as a try of all tickets that the secret finds.
 */
export type TicketKey = { purpose: Purpose; foundBy: Buffer; proof?: Buffer };

/** A ticket: its person, its subject, and when it expires (milliseconds since 1970). */
export type Ticket = { id: number; signed: Signed; about: string; untilMs: number };

const TICKET = {
  id: tickets.id,
  profileId: tickets.profileId,
  addressHash: tickets.addressHash,
  admin: tickets.admin,
  generation: tickets.generation,
  openedBy: tickets.openedBy,
  about: tickets.about,
  until: tickets.until,
};

/**
 * Makes a ticket for a person and returns when it expires, in milliseconds since 1970. Throws
 * `too_many_challenges`; the transaction must then be rolled back.
 */
export function makeTicket(
  db: Db,
  { purpose, foundBy, proof }: TicketKey,
  { signed, about = '' }: { signed: Signed; about?: string },
  nowMs: number,
): number {
  const { lifetimeMs, tries, isReplaced } = rulesOf(purpose);
  refuseTooMany(db, purpose, signed, nowMs);
  if (isReplaced === true) dropTicket(db, { purpose, foundBy });
  const until = nowMs + lifetimeMs;
  const life = { madeAt: nowMs, until, keptUntil: until, triesLeft: tries };
  const row = { purpose, foundBy, proof: proof ?? null, about, ...columnsOf(signed), ...life };
  statements(db).insert.run(row);
  return until;
}

/** Throws `too_many_challenges` if the person has made as many tickets for this purpose as it allows. */
function refuseTooMany(db: Db, purpose: Purpose, signed: Signed, nowMs: number): void {
  const { cap } = rulesOf(purpose);
  if (cap === undefined) return;
  const found = db
    .select({ tickets: count(), firstMadeAt: min(tickets.madeAt) })
    .from(tickets)
    .where(and(eq(tickets.purpose, purpose), isTheirs(tickets, signed), gt(tickets.madeAt, nowMs - cap.withinMs)))
    .get();
  if (found === undefined || found.tickets < cap.max) return;
  const retryAfterSeconds = Math.ceil(((found.firstMadeAt ?? nowMs) + cap.withinMs - nowMs) / 1000);
  throw new AppError('too_many_challenges', null, { retryAfterSeconds });
}

/** Finds a valid ticket without using it; null if there is none. */
export function readTicket(db: Db, key: TicketKey, nowMs: number): Ticket | null {
  return ticketOf(statements(db).read.get({ proof: null, ...key, nowMs }));
}

/** Finds a ticket, even if used or expired; null if there is none. */
export function findTicket(db: Db, key: TicketKey): Ticket | null {
  return ticketOf(statements(db).find.get({ proof: null, ...key }));
}

/** A person's newest valid ticket for a purpose; null if there is none. */
export function readTicketOf(db: Db, purpose: Purpose, signed: Signed, nowMs: number): Ticket | null {
  const isWanted = and(eq(tickets.purpose, purpose), isTheirs(tickets, signed), isValid(nowMs));
  return ticketOf(db.select(TICKET).from(tickets).where(isWanted).orderBy(desc(tickets.id)).limit(1).get());
}

/**
 * Uses up a ticket and returns it; of concurrent calls only one succeeds. If no valid ticket matches, uses up one try
 * of those that match without the proof, and returns null.
 */
export function useTicket(db: Db, key: TicketKey, nowMs: number): Ticket | null {
  const { keptMs = 0 } = rulesOf(key.purpose);
  const used = ticketOf(statements(db).use.get({ proof: null, ...key, nowMs, keptMs }));
  if (used === null) spendTry(db, key);
  return used;
}

/** Uses up one try of all tickets with the same `foundBy`, whatever their proof. */
export function spendTry(db: Db, { purpose, foundBy }: TicketKey): void {
  statements(db).spendTry.run({ purpose, foundBy });
}

/** Deletes the tickets with this key. */
export function dropTicket(db: Db, key: TicketKey): void {
  statements(db).drop.run({ proof: null, ...key });
}

/** Deletes the unused tickets among `whose` that lead to a sign-in. */
export function endTickets(db: Db, whose: SQL): void {
  const purposes = purposesWith(({ givesAccess }) => givesAccess === true);
  db.delete(tickets)
    .where(and(whose, inArray(tickets.purpose, purposes), isNull(tickets.usedAt)))
    .run();
}

/** A condition: the ticket is unused, not tried too often, and not expired. */
function isValid(nowMs: number | Placeholder): SQL | undefined {
  const hasTries = or(isNull(tickets.triesLeft), gt(tickets.triesLeft, 0));
  return and(isNull(tickets.usedAt), hasTries, gt(tickets.until, nowMs));
}

/** Prepared, since strangers can cause their execution by requesting codes. */
const statements = keepQuery((db) => {
  const { placeholder } = sql;
  const isFoundBy = and(eq(tickets.purpose, placeholder('purpose')), eq(tickets.foundBy, placeholder('foundBy')));
  const proof = placeholder('proof');
  const isRight = and(isFoundBy, sql`(${proof} IS NULL OR ${tickets.proof} = ${proof})`);
  // A ticket with a proof can't be used without it.
  const isProven = and(isFoundBy, sql`${tickets.proof} IS ${proof}`, isValid(placeholder('nowMs')));
  const keptUntil = sql`max(${tickets.keptUntil}, ${tickets.madeAt} + ${placeholder('keptMs')})`;
  const found = (isWanted: SQL | undefined) =>
    db.select(TICKET).from(tickets).where(isWanted).orderBy(desc(tickets.id)).limit(1).prepare();
  return {
    find: found(isRight),
    read: found(and(isRight, isValid(placeholder('nowMs')))),
    drop: db.delete(tickets).where(isRight).prepare(),
    use: db
      .update(tickets)
      .set({ usedAt: sql`${placeholder('nowMs')}`, keptUntil })
      .where(isProven)
      .returning(TICKET)
      .prepare(),
    spendTry: db
      .update(tickets)
      .set({ triesLeft: sql`${tickets.triesLeft} - 1` })
      .where(and(isFoundBy, isNull(tickets.usedAt), gt(tickets.triesLeft, 0)))
      .prepare(),
    insert: db
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
  const { id, about, until } = row;
  return { id, signed: signedOf(row), about, untilMs: until };
}
