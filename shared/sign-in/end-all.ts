import { eq } from 'drizzle-orm';
import type { Db } from '../db/connect.ts';
import { findProfile } from '../profiles/find.ts';
import type { Access } from '../sessions-file/access.ts';
import { signIns, tickets } from '../sessions-file/schema.ts';
import { flushSessions, type SessionsFile, writeSessions } from '../sessions-file/sessions-file.ts';
import { isAnyOf, isTheirs, type Signed } from '../sessions-file/whose.ts';
import { ownerToSign } from '../sign-ins/binding.ts';
import { endSignIns } from '../sign-ins/sign-ins.ts';
import { endTickets } from '../tickets/tickets.ts';
import { forgetBrowsers } from './known-browsers.ts';

/**
 * Ends everything that gives access as this profile or admin, now or soon: sessions, codes and
 * hand-over URLs, including those made under another e-mail address of the profile. Forgets the owner's known browsers,
 * except the one with the cookie `keptBrowser`. Returns how many sessions were alive. Throws `refused` if the sessions file can't be written; then nothing
 * has ended.
 */
export function endAllSignIns({ sessions, clock }: Access, signed: Signed, keptBrowser: string | null = null): number {
  return end(sessions, (db) => {
    endTickets(db, isAnyOf(tickets, signed));
    if (signed.kind === 'owner') forgetBrowsers(db, signed.profileId, keptBrowser);
    // Sign-ins made under an earlier e-mail address no longer gave access, so they are not counted.
    return endSignIns(db, isAnyOf(signIns, signed), clock.nowMs(), isTheirs(signIns, signed));
  });
}

/**
 * Calls {@link endAllSignIns} for the owner of the profile with this username or alias, and returns the profile. Throws
 * `not_found`, and the errors of `endAllSignIns`.
 */
export function signOwnerOut(access: Access, named: string): { id: number; username: string; ended: number } {
  const { id, username } = findProfile(access.db, named);
  const owner = ownerToSign(access, id);
  // Just erased, so nothing gives access to it.
  if (owner === null) return { id, username, ended: 0 };
  return { id, username, ended: endAllSignIns(access, owner) };
}

/**
 * Marks as ended everything that came from a removed token of a backend: hand-over URLs and sessions. Without the token they give no access anyway. Throws
 * `refused` if the sessions file can't be written.
 */
export function endOpenedBy({ sessions, clock }: Pick<Access, 'sessions' | 'clock'>, identifier: string): number {
  return end(sessions, (db) => {
    endTickets(db, eq(tickets.openedBy, identifier));
    return endSignIns(db, eq(signIns.openedBy, identifier), clock.nowMs());
  });
}

function end(sessions: SessionsFile, act: (db: Db) => number): number {
  const ended = writeSessions(sessions, act);
  flushSessions(sessions);
  return ended;
}
