import { DAY_MS } from '../clock.ts';
import type { Sqlite } from '../db/connect.ts';
import { withShown } from '../profiles/shown.ts';
import type { Access } from './access.ts';
import {
  columnsOf,
  endOf,
  isShown,
  type Periods,
  personOf,
  personsRows,
  SIGNED_COLUMNS,
  type Signed,
  type SignedColumns,
  type SignedInPerson,
  signedOf,
  type TimeColumns,
  type Value,
} from './session-row.ts';
import { readSessions, writeSessions } from './sessions-file.ts';
import { dropOver, endOne, endOneRow, isStillSigned, noteUseIn, type SignedTable } from './signed-rows.ts';
import { newTokenText, readTokenText } from './token-text.ts';
import { hashOf, isSameHash } from './tokens.ts';

// Tokens of people, which their `profilectl` on another machine shows. Each is bound to what a session is bound to, compared
// at every use. Functions throw `busy` where a lock is held for too long, and `refused` where a file can't be read or written.

/** How long such a token lives: an admin's as long as a session at most, however much it is used. */
export const PERSON_TOKEN_PERIODS = {
  owner: { idleMs: 30 * DAY_MS, mostMs: 90 * DAY_MS },
  admin: { idleMs: DAY_MS / 2, mostMs: DAY_MS / 2 },
} as const satisfies Periods;

/** The most tokens that are listed of one person. */
export const MOST_TOKENS_LISTED = 200;

/** The table of these tokens. */
export const PERSON_TOKENS: SignedTable = { name: 'person_tokens', key: 'identifier', periods: PERSON_TOKEN_PERIODS };

/** Where a token is used: what the machine calls itself, and the client's address, normalised. */
export type TokenOrigin = { machine: string; client: { address: string } };

/** A token that is alive. Times are milliseconds since 1970. */
export type PersonToken = {
  /** The eight characters in its middle, which are no secret. */
  identifier: string;
  signed: Signed;
  /** As whom its requests act: an owner, or an admin who has asserted nothing. */
  person: SignedInPerson;
  machine: string;
  lastUsedAtMs: number;
  /** When it ends at the latest, however much it is used. */
  endsAtMs: number;
};

/** A token as it is listed: `endedAtMs` is null while it is alive. */
export type ListedToken = {
  identifier: string;
  machine: string;
  address: string;
  startedAtMs: number;
  lastUsedAtMs: number;
  endedAtMs: number | null;
};

type Row = SignedColumns &
  TimeColumns & { identifier: string; tokenHash: Uint8Array; machine: string; address: string };

const ROW = `identifier, token_hash AS tokenHash, ${SIGNED_COLUMNS}, machine, client_address AS address, started_at AS startedAt, last_used_at AS lastUsedAt, ended_at AS endedAt`;

/** Makes a token for somebody. The token itself is returned this once and stored nowhere. */
export function beginPersonToken(
  access: Access,
  signed: Signed,
  { machine, client }: TokenOrigin,
): { token: string; identifier: string; endsAtMs: number } {
  const { token, identifier } = newTokenText('plt', access.random);
  const { profileId, addressHash, admin, generation, openedBy } = columnsOf(signed);
  const begunAtMs = writeSessions(access.sessions, (sqlite) => {
    const nowMs = access.clock.nowMs();
    sqlite
      .query(
        `INSERT INTO person_tokens (identifier, token_hash, profile_id, address_hash, admin, generation, opened_by, machine,
           client_address, started_at, last_used_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
      )
      .run(
        ...[identifier, hashOf(token), profileId, addressHash, admin, generation, openedBy],
        ...[machine, client.address, nowMs, nowMs],
      );
    return nowMs;
  });
  return { token, identifier, endsAtMs: begunAtMs + PERSON_TOKEN_PERIODS[signed.kind].mostMs };
}

/**
 * The token that a request has shown; null where it is none or a mistyped one, where it was ended or its time is over, and
 * where the person is not the same any more: another address, an erased profile, a removed admin.
 */
export function readPersonToken(access: Access, token: string): PersonToken | null {
  const row = findRow(access, token);
  if (row === null) return null;
  if (endOf(row, access.clock.nowMs(), PERSON_TOKEN_PERIODS) !== null) return null;
  const signed = signedOf(row);
  // Read before it is compared with the token: what the person then does is compared with this once more.
  const person = withShown(access.db, personOf(signed));
  if (!isStillSigned(access, signed)) return null;
  const { identifier, machine, startedAt, lastUsedAt } = row;
  const endsAtMs = startedAt + PERSON_TOKEN_PERIODS[signed.kind].mostMs;
  return { identifier, signed, person, machine, lastUsedAtMs: lastUsedAt, endsAtMs };
}

/** The row of a token, alive or not; null for every other text. */
function findRow({ sessions }: Access, token: string): Row | null {
  const text = readTokenText(token);
  if (text?.prefix !== 'plt') return null;
  const row = readSessions(sessions, (sqlite) =>
    sqlite.query<Row, [string]>(`SELECT ${ROW} FROM person_tokens WHERE identifier = ?`).get(text.identifier),
  );
  return row !== null && isSameHash(row.tokenHash, hashOf(token)) ? row : null;
}

/** Notes that a token was used now; called after the answer. Writes at most once a minute. */
export function notePersonTokenUse(access: Access, { identifier, lastUsedAtMs }: PersonToken): void {
  noteUseIn(access, PERSON_TOKENS, identifier, lastUsedAtMs);
}

/** Ends one of this person's tokens. Returns whether there was a living one with this identifier. */
export function endPersonToken(access: Access, signed: Signed, identifier: string): boolean {
  return endOne(access, PERSON_TOKENS, signed, identifier);
}

/**
 * Ends the token that somebody gives back; does nothing for every other text. Also one that is not alive just now, which could
 * live again once the clock is put right.
 */
export function endShownToken(access: Access, token: string): void {
  const row = findRow(access, token);
  if (row !== null) endPersonToken(access, signedOf(row), row.identifier);
}

/** Does what {@link endPersonToken} does, inside a transaction of the caller, who flushes what is written. */
export function endTokenRow(sqlite: Sqlite, signed: Signed, identifier: string, nowMs: number): void {
  endOneRow(sqlite, PERSON_TOKENS, signed, identifier, nowMs);
}

/**
 * The tokens of this person, {@link MOST_TOKENS_LISTED} at most: first those that nobody has ended, then those that were ended
 * in the last 30 days, each the newest first; as with sessions, those of an earlier address or generation are not listed.
 */
export function listPersonTokens(access: Access, signed: Signed): ListedToken[] {
  const nowMs = access.clock.nowMs();
  const { sql, values } = personsRows(signed);
  const rows = readSessions(access.sessions, (sqlite) =>
    sqlite
      .query<Row, Value[]>(`SELECT ${ROW} FROM person_tokens WHERE ${sql}
           ORDER BY ended_at IS NOT NULL, started_at DESC, identifier LIMIT ?`)
      .all(...values, MOST_TOKENS_LISTED),
  );
  return rows
    .map(({ identifier, machine, address, startedAt, lastUsedAt, ...row }) => ({
      ...{ identifier, machine, address, startedAtMs: startedAt, lastUsedAtMs: lastUsedAt },
      endedAtMs: endOf({ ...row, startedAt, lastUsedAt }, nowMs, PERSON_TOKEN_PERIODS),
    }))
    .filter(({ endedAtMs }) => isShown(endedAtMs, nowMs));
}

/** Deletes the tokens that ended, or whose time was over, more than 30 days ago, inside a transaction of the caller. */
export function dropOldPersonTokens(sqlite: Sqlite, settledMs: number | null): void {
  dropOver(sqlite, PERSON_TOKENS, settledMs);
}
