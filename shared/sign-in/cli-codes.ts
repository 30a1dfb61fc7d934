import { eq } from 'drizzle-orm';
import type { Db } from '../db/connect.ts';
import { AppError } from '../errors.ts';
import type { Access, Client } from '../sessions-file/access.ts';
import { signIns } from '../sessions-file/schema.ts';
import { flushSessions, writeSessions } from '../sessions-file/sessions-file.ts';
import { hashOf, newToken } from '../sessions-file/tokens.ts';
import type { Signed } from '../sessions-file/whose.ts';
import type { SignIn } from '../sign-ins/row.ts';
import { beginSignIn, endSignIns } from '../sign-ins/sign-ins.ts';
import { isStillSigned } from '../sign-ins/still-signed.ts';
import { findTicket, makeTicket, noteMadeInto, spendTry, type TicketKey, useTicket } from '../tickets/tickets.ts';
import { newCode, readCode } from './code-text.ts';
import { storePendingSignInNotice } from './sign-in-notices.ts';

// How `profilectl` on another machine gets a token: a person who is signed in allows the login on a page, which makes a
// code. `profilectl` exchanges the code for the token, and proves with its own secret that it requested it (PKCE, RFC
// 7636). A browser delivers a long code. A code that a person types is as short as those in sign-in mails, and is found
// only by that secret, so that a guess can hit only the codes of one login. Functions throw `refused` if a file can't
// be read or written.

/** The login that a person allows. */
export type CliConsent = {
  /** SHA-256 of the secret of the `profilectl` that logs in, as base64url. */
  codeChallenge: string;
  /** The URL to which the browser delivers the code; null if the person types it. */
  redirectUri: string | null;
  machine: string;
};

/** The request for a token: the code, the URL to which it was delivered, if any, and the secret of `profilectl`. */
export type CliExchange = { code: string; redirectUri: string | null; verifier: string };

/**
 * Makes a code for the person who is signed in: 43 characters of base64url, or 8 from `newCode` if a person types it.
 * Throws `too_many_pages` if too many logins are in progress, and `too_many_requests` if this person has logged in too
 * often today.
 */
export function makeCliCode(access: Access, signed: Signed, consent: CliConsent): string {
  const { codeChallenge, redirectUri, machine } = consent;
  const code = redirectUri === null ? newCode(access.random) : newToken(access.random);
  const key = keyOf(code, codeChallenge, redirectUri);
  writeSessions(access.sessions, (sessionsDb) => {
    makeTicket(sessionsDb, key, { signed, about: machine }, access.clock.nowMs());
  });
  return code;
}

/** The key of a code's ticket. Its proof shows that the code belongs to this login and redirect URL. */
function keyOf(code: string, codeChallenge: string, redirectUri: string | null): Required<TicketKey> {
  if (redirectUri === null) {
    return { purpose: 'login code', foundBy: hashOf(codeChallenge), proof: hashOf(codeChallenge, code) };
  }
  return { purpose: 'login redirect', foundBy: hashOf(code), proof: hashOf(code, codeChallenge, redirectUri) };
}

/**
 * Exchanges a code for a token, once. The owner's pending notification is stored in the same transaction as the token.
 * Throws `invalid_grant`, with one sentence for all reasons: an unknown, used or expired code, one that was mistyped
 * too often, a redirect URL or secret that differs from the login's, and a person who has changed. A second use of a
 * code revokes the token from the first (RFC 6749, section 4.1.2).
 */
export function exchangeCliCode(
  access: Access,
  exchange: CliExchange,
  client: Pick<Client, 'address'>,
): { token: string; signIn: SignIn } {
  const key = keyOfExchange(exchange);
  const made =
    key === null ? null : writeSessions(access.sessions, (sessionsDb) => exchangeIn(access, sessionsDb, key, client));
  flushSessions(access.sessions);
  if (made !== null) return made;
  const sentence = 'This code does not work: it is mistyped, expired, already used, or belongs to another login.';
  throw new AppError('invalid_grant', sentence);
}

/** The key of an exchange's code; null if the typed text can't be a code, which does not count as a try. */
function keyOfExchange({ code, redirectUri, verifier }: CliExchange): Required<TicketKey> | null {
  const codeChallenge = hashOf(verifier).toString('base64url');
  const typed = redirectUri === null ? readCode(code) : code;
  return typed === null ? null : keyOf(typed, codeChallenge, redirectUri);
}

function exchangeIn(
  access: Access,
  sessionsDb: Db,
  key: Required<TicketKey>,
  client: Pick<Client, 'address'>,
): { token: string; signIn: SignIn } | null {
  const nowMs = access.clock.nowMs();
  const { purpose, foundBy, proof } = key;
  // A second use of a long code counts, whoever makes it; a short code is found only with its proof.
  const used = findTicket(
    sessionsDb,
    purpose === 'login redirect' ? { purpose, foundBy } : { purpose, foundBy, proof },
  );
  if (used !== null && used.madeInto !== null) {
    endSignIns(sessionsDb, eq(signIns.id, used.madeInto), nowMs);
    return null;
  }
  const ticket = useTicket(sessionsDb, key, nowMs);
  if (ticket === null) return null;
  const { signed, about: machine } = ticket;
  if (!isStillSigned(access, signed)) {
    spendTry(sessionsDb, key);
    return null;
  }
  if (signed.kind === 'owner')
    storePendingSignInNotice(sessionsDb, signed, { ...client, agent: `profilectl on ${machine}` }, nowMs);
  const begun = beginSignIn(access, signed, { machine, client });
  noteMadeInto(sessionsDb, ticket, begun.signIn.id);
  return begun;
}
