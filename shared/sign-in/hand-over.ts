import { eq } from 'drizzle-orm';
import { isoTime } from '../clock.ts';
import type { Db } from '../db/connect.ts';
import { guardDatabase } from '../db/faults.ts';
import { profiles } from '../db/schema/profiles.ts';
import { AppError } from '../errors.ts';
import type { Access, Client } from '../sessions-file/access.ts';
import { readSessions, writeSessions } from '../sessions-file/sessions-file.ts';
import { hashOf, newToken } from '../sessions-file/tokens.ts';
import type { Owner } from '../sessions-file/whose.ts';
import { readBinding, readBoundRow } from '../sign-ins/binding.ts';
import { isStillSigned } from '../sign-ins/still-signed.ts';
import { makeTicket, readTicket, type Ticket, type TicketKey, useTicket } from '../tickets/tickets.ts';
import { signOwnerIn } from './owner-sign-in.ts';

// Hand-overs: a customer's backend has already signed its user in. It gets a one-time URL and sends the user's browser
// there; one click then signs the user in as the owner of their profile. A URL works once, for a minute, and only while
// the profile (its row and its e-mail address) is unchanged and the backend's token exists. Only the SHA-256 of its
// secret is stored. Functions throw `refused` if a file can't be written.

/** The user that a backend hands over. */
export type HandedOver = { uid: number } | { authId: string };

/**
 * Makes a URL for the owner of a profile, on behalf of the backend's token with the identifier `openedBy`; everything
 * that comes from it ends with that token. `expiresAt` is ISO 8601 in UTC. Throws `not_found`.
 */
export function handOver(access: Access, who: HandedOver, openedBy: string) {
  const profileId = findId(access.db, who);
  const binding = profileId === null ? null : readBinding(access.db, profileId);
  if (binding === null) throw new AppError('not_found');
  const secret = newToken(access.random);
  const untilMs = writeSessions(access.sessions, (sessionsDb) =>
    makeTicket(sessionsDb, keyOf(secret), { signed: { kind: 'owner', ...binding, openedBy } }, access.clock.nowMs()),
  );
  const address = `${access.config.publicUrl}/developers/enter?ticket=${secret}`;
  return { address, expiresAt: isoTime(untilMs) };
}

/**
 * Looks a URL up by its secret without changing anything, for the page that is shown before it is used. Throws
 * `not_found`, with one sentence for all reasons.
 */
export function readHandOver(access: Access, secret: string) {
  const nowMs = access.clock.nowMs();
  const { profileId } = ownerOf(
    access,
    readSessions(access.sessions, (sessionsDb) => readTicket(sessionsDb, keyOf(secret), nowMs)),
  );
  return { profileId, username: readBoundRow(access.db, profileId)?.username ?? '' };
}

/**
 * Uses up a URL and signs the owner in. For a new browser, the pending notification is stored in the same transaction.
 * Throws `not_found` like {@link readHandOver}; if a URL is used twice, only one use succeeds.
 */
export function enterHandOver(access: Access, secret: string, knownBrowser: string | null, client: Client) {
  return writeSessions(access.sessions, (sessionsDb) => {
    const nowMs = access.clock.nowMs();
    const owner = ownerOf(access, useTicket(sessionsDb, keyOf(secret), nowMs));
    return signOwnerIn(access, sessionsDb, owner, { knownBrowser, client }, nowMs);
  });
}

function keyOf(secret: string): TicketKey {
  return { purpose: 'hand-over', foundBy: hashOf(secret) };
}

/** The owner whom a URL signs in. Throws `not_found` if there is none. */
function ownerOf(access: Access, ticket: Ticket | null): Owner {
  if (ticket?.signed.kind === 'owner' && isStillSigned(access, ticket.signed)) return ticket.signed;
  const sentence =
    'This link is invalid or has expired. It works once, for a minute. Go back to the page that sent you here, and try again.';
  throw new AppError('not_found', sentence);
}

function findId(db: Db, who: HandedOver): number | null {
  if ('uid' in who) return who.uid;
  const row = guardDatabase(db.$client.filename, () =>
    db.select({ id: profiles.id }).from(profiles).where(eq(profiles.authId, who.authId)).get(),
  );
  return row?.id ?? null;
}
