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
import { tellOfSignIn } from './sign-in-notices.ts';

// How a `profilectl` on another machine gets a token: a person who is signed in lets it in on a page, which makes a code; the
// `profilectl` exchanges the code for the token, and shows by a secret of its own that it is the one that asked (RFC 7636).
// A browser brings it a code that is long. A person types one as short as those of sign-in mails, which is found by that secret
// and never by itself, so that a guess is tried against the codes of one login only.
// Functions throw `busy` where a lock is held for too long, and `refused` where a file can't be read or written.

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

/**
 * Makes a code for whoever is signed in: 43 characters of base64url, or 8 as `newCode` makes them where a person types it.
 * Throws `too_many_pages` where too many are open, and `too_many_requests` where this person has logged in too often today.
 */
export function makeCliCode(access: Access, signed: Signed, consent: CliConsent): string {
  const { codeChallenge, redirectUri, machine } = consent;
  const code = redirectUri === null ? newCode(access.random) : newToken(access.random);
  const key = keyOf(code, codeChallenge, redirectUri);
  writeSessions(access.sessions, (tables) => {
    makeTicket(tables, key, { signed, about: machine }, access.clock.nowMs());
  });
  return code;
}

/** What a code is found by, and what proves that it is brought by the login that it was made for, to the same address. */
function keyOf(code: string, codeChallenge: string, redirectUri: string | null): Required<TicketKey> {
  if (redirectUri === null) {
    return { purpose: 'login code', foundBy: hashOf(codeChallenge), proof: hashOf(codeChallenge, code) };
  }
  return { purpose: 'login redirect', foundBy: hashOf(code), proof: hashOf(code, codeChallenge, redirectUri) };
}

/**
 * Exchanges a code for a token, once. That the owner is to be told of it is stored together with the token. Throws
 * `invalid_grant`, with one sentence for all reasons: an unknown, used or old code, one that was mistyped too often, another
 * address or secret than the code was made for, and a person who is not the same any more. A second use
 * of a code ends the token that the first has made (RFC 6749, section 4.1.2).
 */
export function exchangeCliCode(
  access: Access,
  exchange: CliExchange,
  client: Pick<Client, 'address'>,
): { token: string; signIn: SignIn } {
  const key = keyOfExchange(exchange);
  const made =
    key === null ? null : writeSessions(access.sessions, (tables) => exchangeIn(access, tables, key, client));
  flushSessions(access.sessions);
  if (made !== null) return made;
  const sentence = 'This code does not work: it is mistyped, too old, was used already, or is not for you.';
  throw new AppError('invalid_grant', sentence);
}

/** By what the code of an exchange is found; null where a code to be typed can't be one, which spends no try. */
function keyOfExchange({ code, redirectUri, verifier }: CliExchange): Required<TicketKey> | null {
  const codeChallenge = hashOf(verifier).toString('base64url');
  const typed = redirectUri === null ? readCode(code) : code;
  return typed === null ? null : keyOf(typed, codeChallenge, redirectUri);
}

function exchangeIn(
  access: Access,
  tables: Db,
  key: Required<TicketKey>,
  client: Pick<Client, 'address'>,
): { token: string; signIn: SignIn } | null {
  const nowMs = access.clock.nowMs();
  const { purpose, foundBy, proof } = key;
  // A second use of a long code counts whoever tries it; a short one is found by its proof only.
  const used = findTicket(tables, purpose === 'login redirect' ? { purpose, foundBy } : { purpose, foundBy, proof });
  if (used !== null && used.madeInto !== null) {
    endSignIns(tables, eq(signIns.id, used.madeInto), nowMs);
    return null;
  }
  const ticket = useTicket(tables, key, nowMs);
  if (ticket === null) return null;
  const { signed, about: machine } = ticket;
  if (!isStillSigned(access, signed)) {
    spendTry(tables, key);
    return null;
  }
  if (signed.kind === 'owner') tellOfSignIn(tables, signed, { ...client, agent: `profilectl on ${machine}` }, nowMs);
  const begun = beginSignIn(access, signed, { machine, client });
  noteMadeInto(tables, ticket, begun.signIn.id);
  return begun;
}
