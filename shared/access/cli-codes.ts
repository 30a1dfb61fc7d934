import { DAY_MS } from '../clock.ts';
import type { Sqlite } from '../db/connect.ts';
import { AppError } from '../errors.ts';
import type { Access, Client } from './access.ts';
import { CODE_PERIOD_MS, CODE_TRIES } from './code-rows.ts';
import { newCode, readCode } from './code-text.ts';
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
// A browser brings it a code that is long. A person types one as short as those of sign-in mails, which is found by that secret
// and never by itself, so that a guess is tried against the codes of one login only.
// Functions throw `busy` where a lock is held for too long, and `refused` where a file can't be read or written.

/** How long a code works that a browser brings, in milliseconds; one that is typed works for `CODE_PERIOD_MS`. */
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
  /** Where the browser brings the code; null where the person types it. */
  redirectUri: string | null;
  /** What the machine calls itself. */
  machine: string;
};

/** What a `profilectl` shows for a token: the code, the address that the code was brought to if there was one, its secret. */
export type CliExchange = { code: string; redirectUri: string | null; verifier: string };

type Row = SignedColumns & CliConsent & { madeAt: number; tokenMade: string | null; triesLeft: number };

/**
 * Makes a code for whoever is signed in: 43 characters of base64url, or 8 as `newCode` makes them where a person types it.
 * Throws `too_many_pages` where too many are open, and `too_many_requests` where this person has logged in too often today.
 */
export function makeCliCode(access: Access, signed: Signed, consent: CliConsent): string {
  const code = consent.redirectUri === null ? newCode(access.random) : newToken(access.random);
  const { profileId, addressHash, admin, generation, openedBy } = columnsOf(signed);
  const { codeChallenge, redirectUri, machine } = consent;
  writeSessions(access.sessions, (sqlite) => {
    const nowMs = access.clock.nowMs();
    dropOldCliCodes(sqlite, access.clock.settledMs());
    refuseMany(sqlite, signed, nowMs);
    makeRoom(sqlite, signed, nowMs);
    sqlite
      .query('INSERT INTO cli_codes VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, NULL, ?)')
      .run(
        ...[redirectUri === null ? hashOf(codeChallenge, code) : hashOf(code), codeChallenge, redirectUri, machine],
        ...[profileId, addressHash, admin, generation, openedBy, nowMs, CODE_TRIES],
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
    .get(...aroundNow(CODE_PERIOD_MS, nowMs)) as { open: number };
  if (open < MOST_CLI_CODES.all) return;
  const sentence = 'Too many logins of profilectl are under way; try again in a minute.';
  throw new AppError('too_many_pages', sentence, { retryAfterSeconds: 60 });
}

/**
 * Exchanges a code for a token, once. That the owner is to be told of it is stored together with the token. Throws
 * `invalid_grant`, with one sentence for all reasons: an unknown, used or old code, one that was mistyped too often, another
 * address or secret than the code was made for, and a person who is not the same any more. A second use of a code ends the token that the first has made
 * (RFC 6749, section 4.1.2).
 */
export function exchangeCliCode(
  access: Access,
  exchange: CliExchange,
  client: Pick<Client, 'address'>,
): { token: string; identifier: string; endsAtMs: number } {
  const made = writeSessions(access.sessions, (sqlite) => {
    const nowMs = access.clock.nowMs();
    const hash = hashFor(exchange);
    if (hash === null) return null;
    const row = find(sqlite, hash);
    const signed = row === null ? null : signedOf(row);
    if (row !== null && signed !== null && row.tokenMade !== null) {
      endTokenRow(sqlite, signed, row.tokenMade, nowMs);
      return null;
    }
    if (row === null || signed === null || !isRight(row, exchange, nowMs) || !isStillSigned(access, signed)) {
      spendTry(sqlite, exchange);
      return null;
    }
    const { machine } = row;
    if (signed.kind === 'owner') {
      tellOfSignIn(access, signed, { ...client, agent: `profilectl on ${machine}` }, nowMs);
    }
    const begun = beginPersonToken(access, signed, { machine, client });
    sqlite.query('UPDATE cli_codes SET token_made = ? WHERE code_hash = ?').run(begun.identifier, hash);
    return begun;
  });
  flushSessions(access.sessions);
  if (made !== null) return made;
  const sentence = 'This code does not work: it is mistyped, too old, was used already, or is not for you.';
  throw new AppError('invalid_grant', sentence);
}

/** What an exchange's code is found by; null where a code to be typed can't be one, which spends no try. */
function hashFor({ code, redirectUri, verifier }: CliExchange): Uint8Array | null {
  if (redirectUri !== null) return hashOf(code);
  const typed = readCode(code);
  return typed === null ? null : hashOf(challengeOf(verifier), typed);
}

function challengeOf(verifier: string): string {
  return Buffer.from(hashOf(verifier)).toString('base64url');
}

/** Spends a try of the codes that a login waits for. One that a browser brings is too long to be guessed. */
function spendTry(sqlite: Sqlite, { redirectUri, verifier }: CliExchange): void {
  if (redirectUri !== null) return;
  sqlite
    .query(
      `UPDATE cli_codes SET tries_left = tries_left - 1
         WHERE code_challenge = ? AND redirect_uri IS NULL AND token_made IS NULL AND tries_left > 0`,
    )
    .run(challengeOf(verifier));
}

function find(sqlite: Sqlite, hash: Uint8Array): Row | null {
  return sqlite
    .query<Row, [Uint8Array]>(
      `SELECT code_challenge AS codeChallenge, redirect_uri AS redirectUri, machine, ${SIGNED_COLUMNS},
         made_at AS madeAt, token_made AS tokenMade, tries_left AS triesLeft FROM cli_codes WHERE code_hash = ?`,
    )
    .get(hash);
}

function isRight(row: Row, { redirectUri, verifier }: CliExchange, nowMs: number): boolean {
  const lengthMs = redirectUri === null ? CODE_PERIOD_MS : CLI_CODE_MS;
  const isItsOwn = row.redirectUri === redirectUri && row.codeChallenge === challengeOf(verifier);
  return isItsOwn && row.triesLeft > 0 && isWithin(row.madeAt, lengthMs, nowMs);
}

/** Deletes codes whose time is over, and those used more than a day ago, inside a transaction of the caller. */
export function dropOldCliCodes(sqlite: Sqlite, settledMs: number | null): void {
  const codes = { table: 'cli_codes', column: 'made_at' };
  const open = (whose: string) => `token_made IS NULL AND redirect_uri IS ${whose}`;
  dropPast(sqlite, { ...codes, lengthMs: CLI_CODE_MS, also: open('NOT NULL') }, settledMs);
  dropPast(sqlite, { ...codes, lengthMs: CODE_PERIOD_MS, also: open('NULL') }, settledMs);
  dropPast(sqlite, { ...codes, lengthMs: USED_MS }, settledMs);
}
