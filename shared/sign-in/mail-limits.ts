import { and, count, eq, gt, lt, lte, or, sql } from 'drizzle-orm';
import { DAY_MS } from '../clock.ts';
import type { Db } from '../db/connect.ts';
import { keepQuery, placeholders } from '../db/prepared-query.ts';
import { networkOf } from '../net.ts';
import { mailCounts } from '../sessions-file/schema.ts';
import { keyedHash } from '../sessions-file/tokens.ts';

// Limits on sign-in mails. Each count is stored in the table mail_counts under a keyed hash, so that the file reveals
// neither names nor addresses. All requests count, whether or not they lead to a mail, so that the counts do not reveal
// whether a profile and an e-mail address match.

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

/** At most `max` within any period of `windowMs` milliseconds. */
export type MailLimit = { max: number; windowMs: number };

/**
 * The limits on requests for codes, and on mails sent. A browser that the owner has used has its own count for each
 * limit.
 */
export const MAIL_LIMITS = {
  /** For one profile (or unknown name) and one e-mail address. */
  pair: [
    { max: 1, windowMs: MINUTE_MS },
    { max: 5, windowMs: HOUR_MS },
    { max: 10, windowMs: DAY_MS },
  ],
  /** From one IPv4 address, or one IPv6 network of 64 bits. */
  network: [{ max: 10, windowMs: HOUR_MS }],
  /** From one IPv6 network of 48 bits. */
  wideNetwork: [{ max: 100, windowMs: HOUR_MS }],
  /** Mails sent, to all owners together. */
  sent: [{ max: 1_000, windowMs: HOUR_MS }],
} as const satisfies Record<string, readonly MailLimit[]>;

const LONGEST_WINDOW_MS = DAY_MS;

/** The keyed hashes under which a request is counted for each limit. */
export type Counted = Record<keyof typeof MAIL_LIMITS, Buffer>;

/**
 * The facts by which a request is counted: the profile (or unknown name) with the typed e-mail address, the client's
 * normalised IP address, and the cookie of a browser that the owner of this profile has used, null for any other
 * browser.
 */
export type CountedRequest = { pair: readonly (string | number)[]; clientAddress: string; knownBrowser: string | null };

/**
 * The hashes under which a request is counted. A browser that the owner has used has its own counts, so that strangers
 * can't use them up.
 */
export function countedUnder(key: Uint8Array, { pair, clientAddress, knownBrowser }: CountedRequest): Counted {
  const isKnown = knownBrowser !== null;
  const under = (limit: keyof Counted, ...others: readonly (string | number)[]) =>
    keyedHash(key, limit, ...(isKnown ? ['known browser', knownBrowser] : others));
  return {
    pair: keyedHash(key, 'pair', ...(isKnown ? ['known browser', knownBrowser] : []), ...pair),
    network: under('network', networkOf(clientAddress, 64)),
    // For IPv4, the network is the single address at either width.
    wideNetwork: under('wideNetwork', networkOf(clientAddress, 48)),
    sent: under('sent'),
  };
}

/** Whether the limits allow another request, and another mail. */
export function roomFor(db: Db, counted: Counted, nowMs: number): { mayRequest: boolean; maySend: boolean } {
  const below = (limit: keyof Counted) => MAIL_LIMITS[limit].map((bound) => isBelow(db, counted[limit], bound, nowMs));
  const counts = [...below('pair'), ...below('network'), ...below('wideNetwork')];
  return { mayRequest: counts.every(Boolean), maySend: below('sent').every(Boolean) };
}

/** The number of mails sent in the last hour, except to owners in known browsers. */
export function countSent(db: Db, key: Uint8Array, nowMs: number): number {
  return countWithin(db, keyedHash(key, 'sent'), HOUR_MS, nowMs);
}

/**
 * Counts a request for a code, and a mail if one is sent. Otherwise it writes a dummy row, so that the writes don't
 * reveal whether the profile and the e-mail address match.
 */
export function countRequest(db: Db, key: Uint8Array, counted: Counted, isSent: boolean, nowMs: number): void {
  const sent = isSent ? counted.sent : keyedHash(key, 'not sent');
  for (const countedUnder of [counted.pair, counted.network, counted.wideNetwork, sent]) {
    insertCount(db).run({ countedUnder, at: nowMs });
  }
}

const insertCount = keepQuery((db) => db.insert(mailCounts).values(placeholders('countedUnder', 'at')).prepare());

/**
 * Deletes counts that limits no longer need, inside the caller's transaction. Counts dated in the future are kept as
 * long as those in the past.
 */
export function dropOldCounts(db: Db, nowMs: number): void {
  const { at } = mailCounts;
  db.delete(mailCounts)
    .where(or(lte(at, nowMs - LONGEST_WINDOW_MS), gt(at, nowMs + LONGEST_WINDOW_MS)))
    .run();
}

function isBelow(db: Db, under: Buffer, { max, windowMs }: MailLimit, nowMs: number): boolean {
  return countWithin(db, under, windowMs, nowMs) < max;
}

/**
 * The number of rows less than a window before or after now. Rows in the future count too, so that setting the clock
 * back does not reset limits; each counts for at most twice its window.
 */
function countWithin(db: Db, under: Buffer, windowMs: number, nowMs: number): number {
  const row = countedWithin(db).get({ under, after: nowMs - windowMs, before: nowMs + windowMs });
  return row?.counted ?? 0;
}

const countedWithin = keepQuery((db) => {
  const { countedUnder, at } = mailCounts;
  const isWithin = and(gt(at, sql.placeholder('after')), lt(at, sql.placeholder('before')));
  return db
    .select({ counted: count() })
    .from(mailCounts)
    .where(and(eq(countedUnder, sql.placeholder('under')), isWithin))
    .prepare();
});
