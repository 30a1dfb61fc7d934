import { and, eq } from 'drizzle-orm';
import { isoTime } from '../clock.ts';
import type { Db } from '../db/connect.ts';
import { admins } from '../db/schema/people.ts';
import { AppError } from '../errors.ts';
import type { Access } from '../sessions-file/access.ts';
import { readSessions, writeSessions } from '../sessions-file/sessions-file.ts';
import { hashOf, newToken } from '../sessions-file/tokens.ts';
import type { SignedAdmin } from '../sessions-file/whose.ts';
import { makeTicket, readTicket, readTicketOf, type Ticket, type TicketKey, useTicket } from '../tickets/tickets.ts';
import type { Admin } from './passkeys.ts';

// The addresses at which admins register a passkey: each works once, for 15 minutes, and only while the admin was not
// invited anew or removed. The secret stands behind the # of the address, which browsers keep to themselves: it is in no
// log of a proxy and in no Referer. The page's script sends it in the body of a POST. registration.ts has what happens there.

/** Where a passkey is registered. The address is shown this once; stored is only the SHA-256 of its secret. */
export type Invitation = { name: string; address: string; expiresAt: string };

/** What the page of an address may show before anything is decided. */
export type Enrolment = { name: string; expiresAtMs: number };

/**
 * Makes an address for the admin of this name and generation. Older ones stay in the table, where they lead nowhere once the
 * admin has another generation: of two commands at once, the one that stores its generation last has the address that works.
 */
export function invite(access: Access, name: string, generation: number): Invitation {
  const secret = newToken(access.random);
  const signed = { kind: 'admin', name, generation } as const;
  const untilMs = writeSessions(access.sessions, (tables) =>
    makeTicket(tables, keyOf(secret), { signed }, access.clock.nowMs()),
  );
  const address = `${access.config.publicUrl}/developers/enrol#${secret}`;
  return { name, address, expiresAt: isoTime(untilMs) };
}

function keyOf(secret: string): TicketKey {
  return { purpose: 'enrolment', foundBy: hashOf(secret) };
}

/** Until when an admin's address works, milliseconds since 1970; null where there is none or it was used. */
export function invitedUntil(access: Access, { name, generation }: Pick<Admin, 'name' | 'generation'>): number | null {
  const nowMs = access.clock.nowMs();
  const signed = { kind: 'admin', name, generation } as const;
  const ticket = readSessions(access.sessions, (tables) => readTicketOf(tables, 'enrolment', signed, nowMs));
  return ticket?.untilMs ?? null;
}

/** Looks an address up by its secret and changes nothing. Throws `forbidden`, with one sentence for all reasons. */
export function readEnrolment(access: Access, secret: string): Enrolment {
  const { admin, expiresAtMs } = findEnrolment(access, secret);
  return { name: admin.name, expiresAtMs };
}

/** Whose address has this secret, and until when it works, in milliseconds since 1970. Throws `forbidden`, like {@link readEnrolment}. */
export function findEnrolment(access: Access, secret: string): { admin: Admin; expiresAtMs: number } {
  const nowMs = access.clock.nowMs();
  const ticket = readSessions(access.sessions, (tables) => readTicket(tables, keyOf(secret), nowMs));
  const { name, generation } = adminOf(ticket);
  const isInvited = and(eq(admins.name, name), eq(admins.generation, generation));
  const admin = access.db.select().from(admins).where(isInvited).get();
  if (ticket === null || admin === undefined) throw enrolmentOver();
  return { admin, expiresAtMs: ticket.untilMs };
}

/** Uses the address up, which at most one process can do, inside a transaction of the caller. Throws `forbidden`. */
export function useEnrolment({ clock }: Access, tables: Db, secret: string): SignedAdmin {
  return adminOf(useTicket(tables, keyOf(secret), clock.nowMs()));
}

function adminOf(ticket: Ticket | null): SignedAdmin {
  if (ticket?.signed.kind !== 'admin') throw enrolmentOver();
  return ticket.signed;
}

/** The error for an address that does not work, with one sentence for all reasons. */
export function enrolmentOver(): AppError {
  return new AppError(
    'forbidden',
    'This address does not work, or not any more: it works once, for 15 minutes. Ask the operator for another, which "profilectl admins invite" prints.',
  );
}
