import { signInMail } from '../mail-texts/sign-in-mail.ts';
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
import { countAsk, countedUnder, dropOldCounts, MAIL_LIMITS, roomFor } from './mail-limits.ts';
import { type SignedOwner, signOwnerIn } from './owner-sign-in.ts';
import { type Claim, NOBODY, readClaim, type Typed } from './sign-in-lookup.ts';

// How owners sign in: a code is mailed to the stored address, and works once, for ten minutes and five tries, in the browser
// that asked. Whatever name and address were typed, the same statements are run and the same number of rows is written;
// only the mail, after the answer, depends on it. A code is found by the secret in the browser's cookie and never by
// itself, so that a guess is tried against one code only.

/** What the page knows that asks for a code; the tokens are those of cookies, null where the browser sent none. */
export type Ask = Typed & { browserSecret: string | null; knownBrowser: string | null; client: Client };

/** What becomes of it, which does not tell whether the profile and the address belong together. */
export type Asked = {
  /** For the cookie that {@link enterCode} needs; another one each time. */
  browserSecret: string;
  /**
   * Sends the mail, if there is one to send; called after the answer. Resolves to a sentence for the log where something is
   * wrong, without an address or a code, otherwise null. Never rejects.
   */
  mail: () => Promise<string | null>;
};

/**
 * Makes a code for whoever typed this and, where name and address belong to one profile, mails it. Where a limit is reached
 * no mail is sent, and the code for which this browser asked before by typing the same stays. Throws `busy`, and `refused` where the sessions
 * file can't be written.
 */
export function askCode(access: Access, ask: Ask): Asked {
  const claim = readClaim(access.db, ask);
  const code = newCode(access.random);
  const { sessions, random, clock } = access;
  const secret = openBrowserSecret(sessions, ask.browserSecret) ?? newToken(random);
  const made = writeSessions(sessions, (tables) => {
    const [nowMs, settledMs] = [clock.nowMs(), clock.settledMs()];
    const key = fileKey(sessions);
    const isKnown = isKnownBrowser(tables, ask.knownBrowser, claim.binding, nowMs);
    const counted = countedUnder(key, {
      pair: [claim.profileId ?? claim.folded, claim.address],
      clientAddress: ask.client.address,
      knownBrowser: isKnown ? ask.knownBrowser : null,
    });
    // By what was typed, not by what that leads to: otherwise two names could be seen to belong together.
    const about = keyedHash(key, 'typed', claim.folded, claim.address).toString('hex');
    const isSame = readTicket(tables, codeOf(secret), nowMs)?.about === about;
    const room = roomFor(tables, counted, nowMs);
    if (!room.toAsk) {
      if (!isSame) dropTicket(tables, codeOf(secret));
      return { isAsked: false, isSent: false, nowMs };
    }
    const isSent = claim.mailTo !== null && room.toSend;
    if (settledMs !== null) dropOldCounts(tables, settledMs);
    countAsk(tables, key, counted, isSent, nowMs);
    const signed = ownedBy(claim.mailTo === null ? NOBODY : claim.binding);
    makeTicket(tables, codeOf(secret, code), { signed, about }, nowMs);
    return { isAsked: true, isSent, nowMs };
  });
  return {
    browserSecret: sealBrowserSecret(sessions, random, secret),
    mail: async () => {
      if (!made.isAsked) return null;
      const fault = await sendCode(access, claim, { code, client: ask.client, ...made });
      return claim.mailTo !== null && !made.isSent ? SENT_LIMIT_REACHED : fault;
    },
  };
}

/** What the code of a browser is found by: its secret. Only both together prove that a code is right. */
function codeOf(secret: string, code?: string): TicketKey {
  const key = { purpose: 'sign-in code', foundBy: hashOf(secret) } as const;
  return code === undefined ? key : { ...key, proof: hashOf(secret, code) };
}

/** Whose a code is, or the session that it becomes. */
function ownedBy(binding: Binding): Owner {
  return { kind: 'owner', ...binding, openedBy: null };
}

/** Stands in mails that are written and never sent. */
const NOBODYS_ADDRESS = 'nobody@example.org';

const SENT_LIMIT_REACHED = `A sign-in mail was not sent: ${MAIL_LIMITS.sent[0].most} were sent in the last hour, which is the most.`;

/** What comes of a code that was entered. */
export type Entered =
  | ({ isSignedIn: true } & SignedOwner)
  /** `malformed`: no code looks like this, and no try was spent. `wrong`: it is wrong, used, too old or from another browser. */
  | { isSignedIn: false; why: 'malformed' | 'wrong' };

/** What the page knows where a code is entered; the tokens are those of cookies. */
export type Entry = { browserSecret: string | null; knownBrowser: string | null; code: string; client: Client };

/**
 * Signs the owner in whose code this is, and stores with the session that he is to be told where the browser is new. Of two
 * processes that are given the same code only one does. Throws `busy`, and `refused` where the sessions file can't be
 * written.
 */
export function enterCode(access: Access, entry: Entry): Entered {
  const code = readCode(entry.code);
  if (code === null) return { isSignedIn: false, why: 'malformed' };
  const browserSecret = openBrowserSecret(access.sessions, entry.browserSecret);
  if (browserSecret === null) return { isSignedIn: false, why: 'wrong' };
  return writeSessions(access.sessions, (tables): Entered => {
    const nowMs = access.clock.nowMs();
    const owner = useTicket(tables, codeOf(browserSecret, code), nowMs)?.signed;
    if (owner?.kind !== 'owner' || !isStillBound(access.db, owner)) return { isSignedIn: false, why: 'wrong' };
    return { isSignedIn: true, ...signOwnerIn(access, tables, owner, entry, nowMs) };
  });
}

/** What a mail with a code is made of, and whether it is sent. */
type Sending = { code: string; nowMs: number; client: Client; isSent: boolean };

/**
 * Writes the mail, and sends it where it is to be sent. Where it is not, it is written all the same: otherwise whoever asks
 * for pages right behind could tell by their times whether name and address belong together.
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
    const mail = signInMail({
      to: claim.mailTo?.address ?? NOBODYS_ADDRESS,
      code: showCode(code),
      profile: claim.mailTo?.username ?? claim.folded,
      askedAtMs: nowMs,
      endsAtMs: nowMs + PURPOSES['sign-in code'].lifetimeMs,
      clientAddress: client.address,
      publicName,
      publicUrl,
      contact,
    });
    const delivery = await mailer.send(mail, !isSent);
    if (delivery.outcome === 'accepted') return null;
    return `A sign-in mail was not delivered. ${delivery.reason.replaceAll(showCode(code), '[removed]')}`;
  } catch {
    return 'A sign-in mail was not sent, by a fault of this program; please report it.';
  }
}
