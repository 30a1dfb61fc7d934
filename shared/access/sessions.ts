import type { Sqlite } from '../db/connect.ts';
import { withShown } from '../profiles/shown.ts';
import type { Access, Client } from './access.ts';
import { readBinding } from './binding.ts';
import {
  columnsOf,
  endOf,
  isShown,
  type ListedSession,
  listed,
  personsRows,
  ROW,
  type Row,
  SESSION_PERIODS,
  type Session,
  type Signed,
  sessionOf,
  type Value,
} from './session-row.ts';
import { readSessions, type SessionsFile, writeSessions } from './sessions-file.ts';
import { dropOver, endOne, isStillSigned, noteUseIn, type SignedTable } from './signed-rows.ts';
import { hashOf, newToken } from './tokens.ts';

// Who is signed in. A session is found by the SHA-256 of its token, and every look at it compares what it is bound to: an
// owner's profile, row and address, an admin's name and generation. Functions throw `busy` where a lock is held for too
// long, and `refused` where a file can't be read or written.

/** The table of sessions. */
export const SESSIONS: SignedTable = { name: 'sessions', key: 'id', periods: SESSION_PERIODS };

/** The most characters that are kept of what a browser calls itself. */
const MAX_AGENT = 255;

/** The most sessions that are listed of one person. */
export const MOST_LISTED = 200;

/** Who an owner is for a session that begins now; null where there is no such profile. */
export function ownerToSign(access: Access, profileId: number): Signed | null {
  const binding = readBinding(access.db, profileId);
  return binding === null ? null : { kind: 'owner', ...binding, openedBy: null };
}

/** Begins a session. The token, 43 characters, is returned this once and stored nowhere. */
export function beginSession(access: Access, signed: Signed, client: Client): { token: string; session: Session } {
  const token = newToken(access.random);
  const agent = client.agent.slice(0, MAX_AGENT).toWellFormed();
  const { profileId, addressHash, admin, generation, openedBy } = columnsOf(signed);
  const row = writeSessions(access.sessions, (sqlite) => {
    const nowMs = access.clock.nowMs();
    return sqlite
      .query<Row, Value[]>(
        `INSERT INTO sessions (token_hash, profile_id, address_hash, admin, generation, opened_by, started_at, last_used_at,
           client_address, client_agent) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING ${ROW}`,
      )
      .get(
        ...[hashOf(token), profileId, addressHash, admin, generation, openedBy],
        ...[nowMs, nowMs, client.address, agent],
      );
  });
  return { token, session: sessionOf(row as Row) };
}

/**
 * The session that a token belongs to; null where there is none, where it was ended or its time is over, and where the
 * person is not the same any more: another address, an erased profile, a removed admin.
 */
export function readSession(access: Access, token: string): Session | null {
  const row = readSessions(access.sessions, (sqlite) =>
    sqlite.query<Row, [Uint8Array]>(`SELECT ${ROW} FROM sessions WHERE token_hash = ?`).get(hashOf(token)),
  );
  if (row === null || endOf(row, access.clock.nowMs()) !== null) return null;
  const session = sessionOf(row);
  // Read before it is compared with the session: what the person then does is compared with this once more.
  const person = withShown(access.db, session.person);
  return isStillSigned(access, session.signed) ? { ...session, person } : null;
}

/** Notes that a session was used now; called after the answer. Writes at most once a minute. */
export function noteUse(access: Access, { id, lastUsedAtMs }: Session): void {
  noteUseIn(access, SESSIONS, id, lastUsedAtMs);
}

/** Ends one of this person's sessions. Returns whether there was a living one with this id. */
export function endSession(access: Access, signed: Signed, id: number): boolean {
  return endOne(access, SESSIONS, signed, id);
}

/**
 * The sessions of this person, {@link MOST_LISTED} at most: first those that nobody has ended, then those that were ended in
 * the last 30 days, each the newest first. Sessions of an earlier address, an erased profile or a removed admin are not listed: they were perhaps
 * another person's.
 */
export function listSessions(access: Access, signed: Signed): ListedSession[] {
  const nowMs = access.clock.nowMs();
  const { sql, values } = personsRows(signed);
  const rows = readSessions(access.sessions, (sqlite) =>
    sqlite
      .query<Row, Value[]>(`SELECT ${ROW} FROM sessions WHERE ${sql}
           ORDER BY ended_at IS NOT NULL, id DESC LIMIT ?`)
      .all(...values, MOST_LISTED),
  );
  return rows.map((row) => listed(row, nowMs)).filter(({ endedAtMs }) => isShown(endedAtMs, nowMs));
}

/** How many sessions are alive by their times. Throws `busy`, and `refused` where the file can't be read. */
export function countSessions(sessions: SessionsFile, nowMs: number): number {
  const rows = readSessions(sessions, (sqlite) =>
    sqlite.query<Row, []>(`SELECT ${ROW} FROM sessions WHERE ended_at IS NULL`).all(),
  );
  return rows.filter((row) => endOf(row, nowMs) === null).length;
}

/** Deletes the sessions that ended, or whose time was over, more than 30 days ago, inside a transaction of the caller. */
export function dropOldSessions(sqlite: Sqlite, settledMs: number | null): void {
  dropOver(sqlite, SESSIONS, settledMs);
}
