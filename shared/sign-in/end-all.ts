import { eq } from 'drizzle-orm';
import type { Db } from '../db/connect.ts';
import { findProfile, type ProfileRef } from '../profiles/find.ts';
import type { Access } from '../sessions-file/access.ts';
import { signIns, tickets } from '../sessions-file/schema.ts';
import { flushSessions, type SessionsFile, writeSessions } from '../sessions-file/sessions-file.ts';
import { isAnyOf, isTheirs, type Signed } from '../sessions-file/whose.ts';
import { ownerToSign } from '../sign-ins/binding.ts';
import { type EndedSignIns, endSignIns } from '../sign-ins/sign-ins.ts';
import { endTickets } from '../tickets/tickets.ts';
import { forgetBrowsers } from './known-browsers.ts';

/**
 * Ends everything that lets somebody in as this profile or admin, or soon could: sessions, logins of `profilectl`, codes and
 * addresses of hand-overs, also those that were made while the profile had another address. The browsers that the owner has
 * used are forgotten, but for the one with the cookie `keptBrowser`. Throws `busy`, and `refused` where the sessions file
 * can't be written; nothing is ended then.
 */
export function endAllSignIns(
  { sessions, clock }: Access,
  signed: Signed,
  keptBrowser: string | null = null,
): EndedSignIns {
  return end(sessions, (tables) => {
    endTickets(tables, isAnyOf(tickets, signed));
    if (signed.kind === 'owner') forgetBrowsers(tables, signed.profileId, keptBrowser);
    // Those of an earlier address let nobody in before either.
    return endSignIns(tables, isAnyOf(signIns, signed), clock.nowMs(), isTheirs(signIns, signed));
  });
}

/**
 * Ends all of this for the owner of the profile with this username or alias. Returns which profile that is. Throws
 * `not_found`, and as above.
 */
export function signOwnerOut(access: Access, username: string): ProfileRef & { ended: EndedSignIns } {
  const profile = findProfile(access.db, username);
  const owner = ownerToSign(access, profile.id);
  // Erased since: then nothing of it lets anybody in.
  if (owner === null) return { ...profile, ended: { sessions: 0, logins: 0 } };
  return { ...profile, ended: endAllSignIns(access, owner) };
}

/**
 * Stores that everything has ended to which a platform's token led that was removed: addresses of hand-overs, sessions, and
 * logins of `profilectl` that were let in from these. None of them lets anybody in without the token anyway. Throws as above.
 */
export function endOpenedBy({ sessions, clock }: Pick<Access, 'sessions' | 'clock'>, identifier: string): EndedSignIns {
  return end(sessions, (tables) => {
    endTickets(tables, eq(tickets.openedBy, identifier));
    return endSignIns(tables, eq(signIns.openedBy, identifier), clock.nowMs());
  });
}

function end(sessions: SessionsFile, act: (tables: Db) => EndedSignIns): EndedSignIns {
  const ended = writeSessions(sessions, act);
  flushSessions(sessions);
  return ended;
}
