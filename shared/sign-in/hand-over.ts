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
import { readBinding } from '../sign-ins/binding.ts';
import { isStillSigned } from '../sign-ins/still-signed.ts';
import { makeTicket, readTicket, type Ticket, type TicketKey, useTicket } from '../tickets/tickets.ts';
import { signOwnerIn } from './owner-sign-in.ts';

// The platform's backend knows its users. For one of them it is given an address, to which it sends the user's browser; there
// the user becomes the owner of the profile by one click. An address works once, for a minute, and as long as the profile
// is the same (its row and its e-mail address) and the backend's token is there. Stored is only the SHA-256 of its secret. Functions throw `busy` where a
// lock is held for too long, and `refused` where a file can't be written.

/** Whom a backend hands over: by UID or by auth ID. */
export type HandedOver = { uid: number } | { authId: string };

/** Where the user is to be sent; the address is shown this once. `expiresAt` is ISO 8601 in UTC. */
export type HandOver = { address: string; expiresAt: string };

/** What the page shows of an address before it is used. */
export type OpenHandOver = { profileId: number; username: string };

/** What using an address makes: the tokens of two cookies. */
export type Entrance = { token: string; knownBrowser: string };

/**
 * Makes an address for the owner of a profile, for the platform's token with the identifier `openedBy`. What it leads to ends
 * with that token. Throws `not_found`.
 */
export function handOver(access: Access, who: HandedOver, openedBy: string): HandOver {
  const profileId = findId(access.db, who);
  const binding = profileId === null ? null : readBinding(access.db, profileId);
  if (binding === null) throw new AppError('not_found');
  const secret = newToken(access.random);
  const untilMs = writeSessions(access.sessions, (tables) =>
    makeTicket(tables, keyOf(secret), { signed: { kind: 'owner', ...binding, openedBy } }, access.clock.nowMs()),
  );
  const address = `${access.config.publicUrl}/developers/enter?ticket=${secret}`;
  return { address, expiresAt: isoTime(untilMs) };
}

/** Looks an address up by its secret and changes nothing. Throws `not_found`, with one sentence for all reasons. */
export function readHandOver(access: Access, secret: string): OpenHandOver {
  const nowMs = access.clock.nowMs();
  const { profileId } = ownerOf(
    access,
    readSessions(access.sessions, (tables) => readTicket(tables, keyOf(secret), nowMs)),
  );
  return { profileId, username: usernameOf(access.db, profileId) };
}

/**
 * Uses an address up and signs the owner in, and stores that he is to be told where the browser is new. Throws `not_found` as above: of two
 * that use one address only one gets in.
 */
export function enterHandOver(access: Access, secret: string, knownBrowser: string | null, client: Client): Entrance {
  return writeSessions(access.sessions, (tables) => {
    const nowMs = access.clock.nowMs();
    const owner = ownerOf(access, useTicket(tables, keyOf(secret), nowMs));
    return signOwnerIn(access, tables, owner, { knownBrowser, client }, nowMs);
  });
}

function keyOf(secret: string): TicketKey {
  return { purpose: 'hand-over', foundBy: hashOf(secret) };
}

/** Whom an address signs in. Throws `not_found` where none does. */
function ownerOf(access: Access, ticket: Ticket | null): Owner {
  if (ticket?.signed.kind === 'owner' && isStillSigned(access, ticket.signed)) return ticket.signed;
  const sentence =
    'This address does not work, or not any more: it works once, for a minute. Go back to where it came from, and begin anew.';
  throw new AppError('not_found', sentence);
}

function findId(db: Db, who: HandedOver): number | null {
  if ('uid' in who) return who.uid;
  const row = guardDatabase(db.$client.filename, () =>
    db.select({ id: profiles.id }).from(profiles).where(eq(profiles.authId, who.authId)).get(),
  );
  return row?.id ?? null;
}

function usernameOf(db: Db, id: number): string {
  const row = guardDatabase(db.$client.filename, () =>
    db.select({ username: profiles.username }).from(profiles).where(eq(profiles.id, id)).get(),
  );
  return row?.username ?? '';
}
