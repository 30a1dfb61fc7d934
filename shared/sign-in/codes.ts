import { signInMail } from '../mail/texts/sign-in-mail.ts';
import type { Access, Client } from '../sessions-file/access.ts';
import { fileKey, writeSessions } from '../sessions-file/sessions-file.ts';
import { hashOf, keyedHash, newToken } from '../sessions-file/tokens.ts';
import type { Binding, Owner } from '../sessions-file/whose.ts';
import { isStillBound } from '../sign-ins/binding.ts';
import { PURPOSES } from '../tickets/purposes.ts';
import { dropTicket, makeTicket, readTicket, type TicketKey, useTicket } from '../tickets/tickets.ts';
import { openBrowserSecret, sealBrowserSecret } from './browser-secret.ts';
import { newCode, readCode, showCode } from './code-text.ts';
import { isKnownBrowser } from './known-browsers.ts';
import { countedUnder, countRequest, MAIL_LIMITS, roomFor } from './mail-limits.ts';
import { type SignedOwner, signOwnerIn } from './owner-sign-in.ts';
import { type Claim, NOBODY, readClaim, type Typed } from './sign-in-lookup.ts';

// How owners sign in: a code is mailed to the e-mail address on file. It works once, for ten minutes and five tries, in
// the browser that requested it. Whatever name and address were typed, the same statements run and the same number of
// rows is written; only the mail, sent after the response, depends on them. A code is found only by the secret in the
// browser's cookie, so that a guess can hit only one code.

/** A request for a code; the tokens are those of cookies, null without a cookie. */
export type CodeRequest = Typed & { browserSecret: string | null; knownBrowser: string | null; client: Client };

/** The result of a request for a code. It does not reveal whether the profile and the e-mail address match. */
export type RequestedCode = {
  /** For the cookie that {@link enterCode} needs; a different value each time. */
  browserSecret: string;
  /**
   * Sends the mail, if any; called after the response. Resolves to a sentence for the log, without an address or a
   * code, if something went wrong, otherwise to null. Never rejects.
   */
  mail: () => Promise<string | null>;
};

/**
 * Makes a code for this name and e-mail address, and mails it if they match a profile. If a limit is reached, no mail
 * is sent, and an earlier code of this browser for the same name and address stays valid. Throws `refused` if the
 * sessions file can't be written.
 */
export function requestCode(access: Access, request: CodeRequest): RequestedCode {
  const claim = readClaim(access.db, request);
  const code = newCode(access.random);
  const { sessions, random, clock } = access;
  const secret = openBrowserSecret(sessions, request.browserSecret) ?? newToken(random);
  const made = writeSessions(sessions, (sessionsDb) => {
    const nowMs = clock.nowMs();
    const key = fileKey(sessions);
    const isKnown = isKnownBrowser(sessionsDb, request.knownBrowser, claim.binding, nowMs);
    const counted = countedUnder(key, {
      pair: [claim.profileId ?? claim.folded, claim.address],
      clientAddress: request.client.address,
      knownBrowser: isKnown ? request.knownBrowser : null,
    });
    // Keyed by the typed texts, not by the profile found: otherwise it would reveal that two names belong to the same
    // profile.
    const about = keyedHash(key, 'typed', claim.folded, claim.address).toString('hex');
    const isSame = readTicket(sessionsDb, codeOf(secret), nowMs)?.about === about;
    const room = roomFor(sessionsDb, counted, nowMs);
    if (!room.mayRequest) {
      if (!isSame) dropTicket(sessionsDb, codeOf(secret));
      return { isMade: false, isSent: false, nowMs };
    }
    const isSent = claim.mailTo !== null && room.maySend;
    countRequest(sessionsDb, key, counted, isSent, nowMs);
    const signed = ownedBy(claim.mailTo === null ? NOBODY : claim.binding);
    makeTicket(sessionsDb, codeOf(secret, code), { signed, about }, nowMs);
    return { isMade: true, isSent, nowMs };
  });
  return {
    browserSecret: sealBrowserSecret(sessions, random, secret),
    mail: async () => {
      if (!made.isMade) return null;
      const fault = await sendCode(access, claim, { code, client: request.client, ...made });
      return claim.mailTo !== null && !made.isSent ? SENT_LIMIT_REACHED : fault;
    },
  };
}

/** A browser's code is found by the browser's secret; the proof is the hash of both. */
function codeOf(secret: string, code?: string): TicketKey {
  const key = { purpose: 'sign-in code', foundBy: hashOf(secret) } as const;
  return code === undefined ? key : { ...key, proof: hashOf(secret, code) };
}

function ownedBy(binding: Binding): Owner {
  return { kind: 'owner', ...binding, openedBy: null };
}

/** The recipient of mails that are composed but never sent. */
const NOBODYS_ADDRESS = 'nobody@example.org';

const SENT_LIMIT_REACHED = `A sign-in mail was not sent: ${MAIL_LIMITS.sent[0].max} were sent in the last hour, which is the limit.`;

/** The result of entering a code. */
export type Entered =
  | ({ isSignedIn: true } & SignedOwner)
  /**
   * `malformed`: the text can't be a code; that did not count as a try. `wrong`: it is wrong, used, expired or from
   * another browser.
   */
  | { isSignedIn: false; why: 'malformed' | 'wrong' };

/** An entered code; the tokens are those of cookies. */
export type Entry = { browserSecret: string | null; knownBrowser: string | null; code: string; client: Client };

/**
 * Signs the owner of this code in. For a new browser, the pending notification is stored in the same transaction as the
 * session. If two processes enter the same code, only one succeeds. Throws `refused` if the sessions file can't be
 * written.
 */
export function enterCode(access: Access, entry: Entry): Entered {
  const code = readCode(entry.code);
  if (code === null) return { isSignedIn: false, why: 'malformed' };
  const browserSecret = openBrowserSecret(access.sessions, entry.browserSecret);
  if (browserSecret === null) return { isSignedIn: false, why: 'wrong' };
  return writeSessions(access.sessions, (sessionsDb): Entered => {
    const nowMs = access.clock.nowMs();
    const owner = useTicket(sessionsDb, codeOf(browserSecret, code), nowMs)?.signed;
    if (owner?.kind !== 'owner' || !isStillBound(access.db, owner)) return { isSignedIn: false, why: 'wrong' };
    return { isSignedIn: true, ...signOwnerIn(access, sessionsDb, owner, entry, nowMs) };
  });
}

/** The contents of a mail with a code, and whether it is sent. */
type Sending = { code: string; nowMs: number; client: Client; isSent: boolean };

/**
 * Composes the mail, and sends it if `isSent`. It is always composed: otherwise the timing of the next responses would
 * reveal whether name and address match.
 */
async function sendCode(
  access: Access,
  claim: Claim,
  { code, nowMs, client, isSent }: Sending,
): Promise<string | null> {
  try {
    const mailer = await access.mailer();
    if (mailer === null) return 'A sign-in mail was not sent: MAIL_URL is not set.';
    const { publicName, publicUrl, contact } = access.config;
    const text = signInMail({
      code: showCode(code),
      profile: claim.mailTo?.username ?? claim.folded,
      askedAtMs: nowMs,
      endsAtMs: nowMs + PURPOSES['sign-in code'].lifetimeMs,
      clientAddress: client.address,
      publicName,
      publicUrl,
      contact,
    });
    const to = claim.mailTo?.address ?? NOBODYS_ADDRESS;
    const delivery = await mailer.send({ ...text, to }, { isRehearsal: !isSent });
    if (delivery.outcome === 'accepted') return null;
    return `A sign-in mail was not delivered. ${delivery.reason.replaceAll(showCode(code), '[removed]')}`;
  } catch {
    return 'A sign-in mail was not sent because of a bug in this program; please report it.';
  }
}
