import type { Sqlite } from '../db/connect.ts';
import { findProfile, type ProfileRef } from '../profiles/find.ts';
import type { Access } from './access.ts';
import { forgetBrowsers } from './known-browsers.ts';
import { PERSON_TOKENS } from './person-tokens.ts';
import { everyRowOf, openedRows, personsRows, type Rows, type Signed, type Value } from './session-row.ts';
import { ownerToSign, SESSIONS } from './sessions.ts';
import { flushSessions, type SessionsFile, writeSessions } from './sessions-file.ts';
import { endRows } from './signed-rows.ts';

/** How many sessions, and logins of `profilectl`, let somebody in until they were ended. */
export type EndedSignIns = { sessions: number; logins: number };

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
  return end(sessions, (sqlite) => {
    const nowMs = clock.nowMs();
    const rows = everyRowOf(signed);
    drop(sqlite, 'cli_codes', rows, 'AND token_made IS NULL');
    if (signed.kind === 'owner') {
      drop(sqlite, 'sign_in_codes', rows);
      drop(sqlite, 'hand_overs', rows);
      forgetBrowsers(sqlite, signed.profileId, keptBrowser);
    }
    // Those of an earlier address let nobody in before either.
    const how = { rows, counted: personsRows(signed), nowMs };
    return {
      sessions: endRows(sqlite, SESSIONS, signed.kind, how),
      logins: endRows(sqlite, PERSON_TOKENS, signed.kind, how),
    };
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
  return end(sessions, (sqlite) => {
    const rows = openedRows(identifier);
    drop(sqlite, 'cli_codes', rows, 'AND token_made IS NULL');
    drop(sqlite, 'hand_overs', rows);
    const how = { rows, nowMs: clock.nowMs() };
    return {
      sessions: endRows(sqlite, SESSIONS, 'owner', how),
      logins: endRows(sqlite, PERSON_TOKENS, 'owner', how),
    };
  });
}

function end(sessions: SessionsFile, act: (sqlite: Sqlite) => EndedSignIns): EndedSignIns {
  const ended = writeSessions(sessions, act);
  flushSessions(sessions);
  return ended;
}

function drop(sqlite: Sqlite, table: string, { sql, values }: Rows, more = ''): void {
  sqlite.query<null, Value[]>(`DELETE FROM ${table} WHERE ${sql} ${more}`).run(...values);
}
