import { DAY_MS } from '../clock.ts';
import type { Sqlite } from '../db/connect.ts';
import { AppError } from '../errors.ts';
import type { Access, Client } from './access.ts';
import { aroundNow, dropPast, isWithin, withinSql } from './periods.ts';
import { beginPersonToken, endTokenRow } from './person-tokens.ts';
import {
  columnsOf,
  personsRows,
  SIGNED_COLUMNS,
  type Signed,
  type SignedColumns,
  signedOf,
  type Value,
} from './session-row.ts';
import { flushSessions, writeSessions } from './sessions-file.ts';
import { isStillSigned } from './signed-rows.ts';
import { hashOf, newToken } from './tokens.ts';
import { tellOfSignIn } from './untold.ts';

// How a `profilectl` on another machine gets a token: a person who is signed in lets it in on a page, which makes a code; the
// `profilectl` exchanges the code for the token, and shows by a secret of its own that it is the one that asked (RFC 7636).
// Functions throw `busy` where a lock is held for too long, and `refused` where a file can't be read or written.

/** How long a code works, in milliseconds. */
export const CLI_CODE_MS = 5 * 60_000;

/** How long a code that was used is remembered, so that a second use ends the token, in milliseconds. */
const USED_MS = DAY_MS;

/**
 * The most codes that may be open at a time, and so many of one person, where a new one takes the place of the oldest; and how
 * many of one person become a token within a day, each of which is a row for months and a mail.
 */
export const MOST_CLI_CODES = { all: 1_000, person: 5, day: 20 } as const;

/** What somebody consents to. */
export type CliConsent = {
  /** SHA-256 of the secret of the `profilectl` that asks, as base64url. */
  codeChallenge: string;
  /** Where the browser brings the code; null where the person pastes it. */
  redirectUri: string | null;
  /** What the machine calls itself. */
  machine: string;
};

/** What a `profilectl` shows for a token: the code, the address that the code was brought to if there was one, its secret. */
export type CliExchange = { code: string; redirectUri: string | null; verifier: string };

type Row = SignedColumns & CliConsent & { madeAt: number; tokenMade: string | null };

/**
 * Makes a code, 43 characters of base64url, for whoever is signed in. Throws `too_many_pages` where too many are open, and
 * `too_many_requests` where this person has logged in too often today.
 */
export function makeCliCode(access: Access, signed: Signed, consent: CliConsent): string {
  const code = newToken(access.random);
  const { profileId, addressHash, admin, generation, openedBy } = columnsOf(signed);
  const { codeChallenge, redirectUri, machine } = consent;
  writeSessions(access.sessions, (sqlite) => {
    const nowMs = access.clock.nowMs();
    dropOldCliCodes(sqlite, access.clock.settledMs());
    refuseMany(sqlite, signed, nowMs);
    makeRoom(sqlite, signed, nowMs);
    sqlite
      .query('INSERT INTO cli_codes VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, NULL)')
      .run(
        ...[hashOf(code), codeChallenge, redirectUri, machine],
        ...[profileId, addressHash, admin, generation, openedBy, nowMs],
      );
  });
  return code;
}

/** Throws `too_many_requests` where too many codes of a person have become a token, until the first of them is forgotten. */
function refuseMany(sqlite: Sqlite, signed: Signed, nowMs: number): void {
  const { sql, values } = personsRows(signed);
  const { used, first } = sqlite
    .query<{ used: number; first: number }, Value[]>(
      `SELECT count(*) AS used, min(made_at) AS first FROM cli_codes
         WHERE token_made IS NOT NULL AND ${sql} AND ${withinSql('made_at')}`,
    )
    .get(...values, ...aroundNow(USED_MS, nowMs)) as { used: number; first: number };
  if (used < MOST_CLI_CODES.day) return;
  const sentence = `You have let profilectl in ${MOST_CLI_CODES.day} times within a day; try again later.`;
  const retryAfterSeconds = Math.ceil((first + USED_MS - nowMs) / 1000);
  throw new AppError('too_many_requests', sentence, { retryAfterSeconds });
}

/** Drops the oldest open codes of a person who would have too many. Throws `too_many_pages` where all have too many. */
function makeRoom(sqlite: Sqlite, signed: Signed, nowMs: number): void {
  const { sql, values } = personsRows(signed);
  sqlite
    .query<null, Value[]>(
      `DELETE FROM cli_codes WHERE code_hash IN (SELECT code_hash FROM cli_codes
         WHERE token_made IS NULL AND ${sql} ORDER BY made_at DESC LIMIT -1 OFFSET ?)`,
    )
    .run(...values, MOST_CLI_CODES.person - 1);
  const { open } = sqlite
    .query<{ open: number }, [number, number]>(
      `SELECT count(*) AS open FROM cli_codes WHERE token_made IS NULL AND ${withinSql('made_at')}`,
    )
    .get(...aroundNow(CLI_CODE_MS, nowMs)) as { open: number };
  if (open < MOST_CLI_CODES.all) return;
  const sentence = 'Too many logins of profilectl are under way; try again in a minute.';
  throw new AppError('too_many_pages', sentence, { retryAfterSeconds: 60 });
}

/**
 * Exchanges a code for a token, once. That the owner is to be told of it is stored together with the token. Throws
 * `invalid_grant`, with one sentence for all reasons: an unknown, used or old code, another address or secret than the code
 * was made for, and a person who is not the same any more. A second use of a code ends the token that the first has made
 * (RFC 6749, section 4.1.2).
 */
export function exchangeCliCode(
  access: Access,
  exchange: CliExchange,
  client: Pick<Client, 'address'>,
): { token: string; identifier: string; endsAtMs: number } {
  const made = writeSessions(access.sessions, (sqlite) => {
    const nowMs = access.clock.nowMs();
    const row = find(sqlite, exchange.code);
    if (row === null) return null;
    const signed = signedOf(row);
    if (row.tokenMade !== null) {
      endTokenRow(sqlite, signed, row.tokenMade, nowMs);
      return null;
    }
    if (!isRight(row, exchange, nowMs) || !isStillSigned(access, signed)) return null;
    const { machine } = row;
    if (signed.kind === 'owner') {
      tellOfSignIn(access, signed, { ...client, agent: `profilectl on ${machine}` }, nowMs);
    }
    const begun = beginPersonToken(access, signed, { machine, client });
    sqlite
      .query('UPDATE cli_codes SET token_made = ? WHERE code_hash = ?')
      .run(begun.identifier, hashOf(exchange.code));
    return begun;
  });
  flushSessions(access.sessions);
  if (made !== null) return made;
  const sentence =
    'This code does not work: it is unknown, older than five minutes, was used already, or is not for you.';
  throw new AppError('invalid_grant', sentence);
}

function find(sqlite: Sqlite, code: string): Row | null {
  return sqlite
    .query<Row, [Uint8Array]>(
      `SELECT code_challenge AS codeChallenge, redirect_uri AS redirectUri, machine, ${SIGNED_COLUMNS},
         made_at AS madeAt, token_made AS tokenMade FROM cli_codes WHERE code_hash = ?`,
    )
    .get(hashOf(code));
}

function isRight(row: Row, { redirectUri, verifier }: CliExchange, nowMs: number): boolean {
  const challenge = Buffer.from(hashOf(verifier)).toString('base64url');
  return isWithin(row.madeAt, CLI_CODE_MS, nowMs) && row.redirectUri === redirectUri && row.codeChallenge === challenge;
}

/** Deletes codes whose time is over, and those used more than a day ago, inside a transaction of the caller. */
export function dropOldCliCodes(sqlite: Sqlite, settledMs: number | null): void {
  const codes = { table: 'cli_codes', column: 'made_at' };
  dropPast(sqlite, { ...codes, lengthMs: CLI_CODE_MS, also: 'token_made IS NULL' }, settledMs);
  dropPast(sqlite, { ...codes, lengthMs: USED_MS }, settledMs);
}
