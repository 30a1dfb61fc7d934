import { DAY_MS } from '../clock.ts';
import type { Tx } from '../db/connect.ts';
import { storeFact } from '../db/facts.ts';
import { write, writeLoosely } from '../db/write.ts';
import type { Deps } from '../deps.ts';
import { foldAddress, isMailAddress, isSameAddress } from '../mail/address.ts';
import { signInMail } from '../mail/texts.ts';
import { networkOf } from '../net.ts';
import { readRowByName } from '../profiles/find.ts';
import { checkedFold } from '../profiles/name.ts';
import type { Random } from '../random.ts';
import { countEvent, createThrottle, type Throttle, waitMs } from '../throttle.ts';
import { beginSignIn, type Client } from './sessions.ts';
import { LIFETIMES_MS, makeTicket, newToken, tryCode, useTicket } from './tickets.ts';

// How owners sign in: a code is mailed to the e-mail address on file. It works once, for ten minutes and five tries, in
// the browser that requested it. Whatever name and address were typed, the same rows are written; only the mail, sent after
// the response, depends on them. In a flood, what matches nothing leaves no row, but takes its place in the limits and ends
// an earlier code of the browser like any other request, so that nobody can tell.

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

/** The number of sign-in mails in an hour, to all owners together. */
export const MAILS_PER_HOUR = 1_000;

/** Mails beyond this number wait until others are sent. */
const MAX_SENDING = 20;

/** Limits for one profile or unknown name, from one network address and from all. */
type Places = { readonly perNetwork: readonly Throttle[]; readonly perProfile: Throttle };

/** What a server counts about requests for codes, and the mails that it is sending. A restart forgets it. */
export type CodeDesk = {
  readonly requests: Places;
  /**
   * The same limits for requests that are mailed: a flood of names makes {@link requests} forget a profile, but not this, which
   * remembers as many as can be mailed in a day.
   */
  readonly mailed: Places;
  readonly mails: Throttle;
  /** Requests whose name and address don't match: more of them leave no row. */
  readonly unmatched: Throttle;
  sending: number;
  readonly waiting: (() => void)[];
};

/** Creates a desk that has counted nothing. */
export function createCodeDesk(clock: Deps['clock']): CodeDesk {
  const places = (keys?: number) => ({
    perNetwork: [createThrottle(clock, 3, HOUR_MS, keys), createThrottle(clock, 10, DAY_MS, keys)],
    perProfile: createThrottle(clock, 30, DAY_MS, keys),
  });
  return {
    requests: places(),
    mailed: places(24 * MAILS_PER_HOUR),
    mails: createThrottle(clock, MAILS_PER_HOUR, HOUR_MS),
    unmatched: createThrottle(clock, 600, MINUTE_MS),
    sending: 0,
    waiting: [],
  };
}

/** What somebody typed to get a code. `browserSecret` is that of the browser's cookie, null without one. */
export type CodeRequest = { name: string; address: string; browserSecret: string | null; client: Client };

/** The result of a request for a code. It does not reveal whether the name and the e-mail address match. */
type RequestedCode = {
  /** For the cookie that {@link enterCode} needs. */
  browserSecret: string;
  /**
   * Sends the mail, if any; called after the response. Resolves to a sentence for the log, without an address or a
   * code, if something went wrong, otherwise to null. Never rejects.
   */
  mail: () => Promise<string | null>;
};

/**
 * Makes a code for this name and e-mail address, and mails it if they match a profile. If a limit is reached, no mail
 * is sent, and an earlier code of this browser stays valid. Throws `refused` if the database can't be written.
 */
export function requestCode(deps: Deps, desk: CodeDesk, request: CodeRequest): RequestedCode {
  const { db, random, clock } = deps;
  const code = newCode(random);
  const { browserSecret: sent, client } = request;
  const secret = sent !== null && /^[\w-]{43}$/.test(sent) ? sent : newToken(random);
  const made = writeLoosely(db, (tx) => {
    const claim = readClaim(tx, request);
    if (!takePlace(desk.requests, claim, client)) return null;
    const nowMs = clock.nowMs();
    const isMatch = claim.mailTo !== null;
    if (!isMatch && !take(desk.unmatched, '')) useTicket(tx, 'code', secret, nowMs);
    else makeTicket(tx, 'code', secret, { profileId: isMatch ? claim.profileId : null }, nowMs, code);
    return { ...claim, nowMs };
  });
  return {
    browserSecret: secret,
    mail: async () => {
      if (made === null || made.mailTo === null) return null;
      const { mailTo, nowMs } = made;
      if (!takePlace(desk.mailed, made, client)) return null;
      if (!take(desk.mails, '')) return holdBack(deps);
      return inTurn(desk, () => sendCode(deps, mailTo, { code, nowMs, client }));
    },
  };
}

/** Counts a request; false if the profile or the unknown name has had too many. */
function takePlace({ perNetwork, perProfile }: Places, { profileId, folded }: Claim, { address }: Client): boolean {
  const of = profileId === null ? `name ${folded}` : `${profileId}`;
  const from = `${of} ${networkOf(address, 64)}`;
  if (waitMs(perProfile, of) > 0 || perNetwork.some((throttle) => waitMs(throttle, from) > 0)) return false;
  countEvent(perProfile, of);
  for (const throttle of perNetwork) countEvent(throttle, from);
  return true;
}

function take(throttle: Throttle, key: string): boolean {
  if (waitMs(throttle, key) > 0) return false;
  countEvent(throttle, key);
  return true;
}

/** Stores that the limit on all mails was reached, for `profilectl status`. */
function holdBack({ db, clock }: Deps): string {
  writeLoosely(db, (tx) => storeFact(tx.$client, 'sign-in mails held back at', `${clock.nowMs()}`));
  return `A sign-in mail was not sent: ${MAILS_PER_HOUR} were sent in the last hour, which is the limit.`;
}

/** Runs `send` when fewer than {@link MAX_SENDING} run. */
async function inTurn<T>(desk: CodeDesk, send: () => Promise<T>): Promise<T> {
  if (desk.sending < MAX_SENDING) desk.sending++;
  else await new Promise<void>((resolve) => desk.waiting.push(resolve));
  try {
    return await send();
  } finally {
    // The next one takes over this place.
    const next = desk.waiting.shift();
    if (next === undefined) desk.sending--;
    else next();
  }
}

/** What the typed texts name. */
type Claim = {
  /** The profile with this name, whatever the address; null if there is none. */
  profileId: number | null;
  /** The name, folded for comparison; empty if it is no name. */
  folded: string;
  /** The recipient of the code: the address on file, if name and address match; otherwise null. */
  mailTo: { address: string; username: string } | null;
};

/** Longer texts are cut; names and addresses are shorter. */
const MAX_TYPED = 400;

/** Looks the profile up, with the same statement whether or not it exists. Banned profiles are found too. */
function readClaim(tx: Tx, typed: CodeRequest): Claim {
  const name = typed.name.slice(0, MAX_TYPED).trim();
  const address = foldAddress(typed.address.slice(0, MAX_TYPED).trim());
  // No profile has an empty name.
  const folded = checkedFold(name) ?? '';
  const row = readRowByName(tx, folded);
  const email = row?.email ?? null;
  const isTheirs = email !== null && isMailAddress(email) && isSameAddress(email, address);
  return {
    profileId: row?.id ?? null,
    folded,
    mailTo: isTheirs && row !== undefined ? { address: email, username: row.username } : null,
  };
}

async function sendCode(
  deps: Deps,
  mailTo: NonNullable<Claim['mailTo']>,
  { code, nowMs, client }: { code: string; nowMs: number; client: Client },
): Promise<string | null> {
  try {
    const mailer = await deps.mailer();
    if (mailer === null) return 'A sign-in mail was not sent: MAIL_URL is not set.';
    const { publicName, publicUrl, contact } = deps.config;
    const text = signInMail({
      code: showCode(code),
      profile: mailTo.username,
      askedAtMs: nowMs,
      endsAtMs: nowMs + LIFETIMES_MS.code,
      clientAddress: client.address,
      publicName,
      publicUrl,
      contact,
    });
    const delivery = await mailer.send({ ...text, to: mailTo.address });
    if (delivery.outcome === 'accepted') return null;
    return `A sign-in mail was not delivered. ${delivery.reason.replaceAll(showCode(code), '[removed]')}`;
  } catch {
    return 'A sign-in mail was not sent because of a bug in this program; please report it.';
  }
}

/** The result of entering a code. */
export type Entered =
  | { isSignedIn: true; token: string }
  /**
   * `malformed`: the text can't be a code; that did not count as a try. `wrong`: it is wrong, used, expired or from
   * another browser.
   */
  | { isSignedIn: false; why: 'malformed' | 'wrong' };

/**
 * Signs the owner of this code in. Each code costs a try before it is compared, and of two who enter the right one at
 * once only one succeeds. Throws `refused` if the database can't be written.
 */
export function enterCode(
  deps: Deps,
  { browserSecret, code: typed, client }: { browserSecret: string | null; code: string; client: Client },
): Entered {
  const { db, clock } = deps;
  const code = readCode(typed);
  if (code === null) return { isSignedIn: false, why: 'malformed' };
  const isRight = browserSecret !== null && writeLoosely(db, (tx) => tryCode(tx, browserSecret, code, clock.nowMs()));
  if (!isRight) return { isSignedIn: false, why: 'wrong' };
  return write(db, (tx): Entered => {
    const profileId = useTicket(tx, 'code', browserSecret, clock.nowMs())?.profileId ?? null;
    if (profileId === null) return { isSignedIn: false, why: 'wrong' };
    return { isSignedIn: true, token: beginSignIn(tx, deps, { profileId, adminId: null }, client) };
  });
}

// The text of a code.

/** Crockford's base32: without I, L, O and U, which people confuse. */
const DIGITS = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';

/** The number of characters of a code; each holds 5 bits. */
const LENGTH = 8;

/** A new code, in the form that is hashed: 40 random bits as 8 characters. */
export function newCode(random: Random): string {
  // Five bytes are exactly eight groups of five bits, so all codes are equally likely.
  let bits = 0n;
  for (const byte of random((LENGTH * 5) / 8)) bits = (bits << 8n) | BigInt(byte);
  let code = '';
  for (let at = LENGTH - 1; at >= 0; at--) code += DIGITS[Number((bits >> BigInt(5 * at)) & 31n)];
  return code;
}

/** A code as it is shown: `7Q2M-X0AB`. */
export function showCode(code: string): string {
  return `${code.slice(0, LENGTH / 2)}-${code.slice(LENGTH / 2)}`;
}

/**
 * Parses a typed code; null if it can't be one. Accepts lower case, spaces, any kind of hyphen, and O, I and L for the
 * digits 0, 1 and 1.
 */
export function readCode(typed: string): string | null {
  if (typed.length > 100) return null;
  const code = typed
    .normalize('NFKC')
    .replace(/[\s\p{Pd}]/gu, '')
    .toUpperCase()
    .replace(/O/g, '0')
    .replace(/[IL]/g, '1');
  return code.length === LENGTH && [...code].every((char) => DIGITS.includes(char)) ? code : null;
}
