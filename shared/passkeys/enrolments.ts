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

// The URLs at which admins register a passkey: each works once, for 15 minutes, and only until the admin is invited
// again or removed. The secret is in the URL fragment, which browsers never send, so it appears in no proxy's log and
// no Referer; the page's script sends it in the body of a POST. The registration itself is in registration.ts.

/**
 * An invitation to register a passkey. The URL (`address`) is returned only here; only the SHA-256 of its secret is
 * stored.
 */
export type Invitation = { name: string; address: string; expiresAt: string };

/**
 * Makes a URL for the admin of this name and generation. Older URLs stay in the table, but stop working once the admin
 * has another generation: of two concurrent commands, the last to store its generation has the valid URL.
 */
export function invite(access: Access, name: string, generation: number): Invitation {
  const secret = newToken(access.random);
  const signed = { kind: 'admin', name, generation } as const;
  const untilMs = writeSessions(access.sessions, (sessionsDb) =>
    makeTicket(sessionsDb, keyOf(secret), { signed }, access.clock.nowMs()),
  );
  const address = `${access.config.publicUrl}/developers/enrol#${secret}`;
  return { name, address, expiresAt: isoTime(untilMs) };
}

function keyOf(secret: string): TicketKey {
  return { purpose: 'enrolment', foundBy: hashOf(secret) };
}

/** When an admin's URL expires, in milliseconds since 1970; null if there is none or it was used. */
export function invitedUntil(access: Access, { name, generation }: Pick<Admin, 'name' | 'generation'>): number | null {
  const nowMs = access.clock.nowMs();
  const signed = { kind: 'admin', name, generation } as const;
  const ticket = readSessions(access.sessions, (sessionsDb) => readTicketOf(sessionsDb, 'enrolment', signed, nowMs));
  return ticket?.untilMs ?? null;
}

/**
 * Looks up a URL by its secret without changing anything, for the page before the registration. Throws `forbidden`,
 * with one sentence for all reasons.
 */
export function readEnrolment(access: Access, secret: string) {
  const { admin, expiresAtMs } = findEnrolment(access, secret);
  return { name: admin.name, expiresAtMs };
}

/**
 * The admin of the URL with this secret, and when it expires, in milliseconds since 1970. Throws `forbidden`, like
 * {@link readEnrolment}.
 */
export function findEnrolment(access: Access, secret: string): { admin: Admin; expiresAtMs: number } {
  const nowMs = access.clock.nowMs();
  const ticket = readSessions(access.sessions, (sessionsDb) => readTicket(sessionsDb, keyOf(secret), nowMs));
  const { name, generation } = adminOf(ticket);
  const isInvited = and(eq(admins.name, name), eq(admins.generation, generation));
  const admin = access.db.select().from(admins).where(isInvited).get();
  if (ticket === null || admin === undefined) throw invalidEnrolment();
  return { admin, expiresAtMs: ticket.untilMs };
}

/** Uses up the URL, inside the caller's transaction; of several processes, only one succeeds. Throws `forbidden`. */
export function useEnrolment({ clock }: Access, sessionsDb: Db, secret: string): SignedAdmin {
  return adminOf(useTicket(sessionsDb, keyOf(secret), clock.nowMs()));
}

function adminOf(ticket: Ticket | null): SignedAdmin {
  if (ticket?.signed.kind !== 'admin') throw invalidEnrolment();
  return ticket.signed;
}

/** The error for an invalid URL, with one sentence for all reasons. */
export function invalidEnrolment(): AppError {
  return new AppError(
    'forbidden',
    'This link is invalid or has expired. It works once, for 15 minutes. Ask the operator for another.',
  );
}
