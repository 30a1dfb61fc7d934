import type { Sqlite } from '../db/connect.ts';
import type { Access } from './access.ts';
import { forgetBrowsers } from './known-browsers.ts';
import { PERSON_TOKENS } from './person-tokens.ts';
import { everyRowOf, type Signed, whoseRows } from './session-row.ts';
import { SESSIONS } from './sessions.ts';
import { flushSessions, writeSessions } from './sessions-file.ts';
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
  const ended = writeSessions(sessions, (sqlite) => {
    const nowMs = clock.nowMs();
    drop(sqlite, signed, 'cli_codes', 'token_made IS NULL');
    if (signed.kind === 'owner') {
      drop(sqlite, signed, 'sign_in_codes');
      drop(sqlite, signed, 'hand_overs');
      forgetBrowsers(sqlite, signed.profileId, keptBrowser);
    }
    return {
      sessions: endRows(sqlite, SESSIONS, signed, null, nowMs),
      logins: endRows(sqlite, PERSON_TOKENS, signed, null, nowMs),
    };
  });
  flushSessions(sessions);
  return ended;
}

function drop(sqlite: Sqlite, signed: Signed, table: string, condition = 'TRUE'): void {
  sqlite.query(`DELETE FROM ${table} WHERE ${everyRowOf(signed)} AND ${condition}`).run(whoseRows(signed));
}
