import { and, count, eq, gt, lt, lte, or, sql } from 'drizzle-orm';
import { DAY_MS } from '../clock.ts';
import type { Db } from '../db/connect.ts';
import { keepQuery, placeholders } from '../db/prepared-query.ts';
import { networkOf } from '../net.ts';
import { mailCounts } from '../sessions-file/schema.ts';
import { keyedHash } from '../sessions-file/tokens.ts';

// Limits on sign-in mails. Each count is stored in the table mail_counts under a keyed hash, so that neither names nor
// addresses can be read from the file. Every request counts, whether or not it leads to a mail, so that the counts do
// not reveal whether a profile and an address match.

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

/** At most `most` within any period of `windowMs` milliseconds. */
export type MailLimit = { most: number; windowMs: number };

/**
 * The limits on requests for codes, and on mails actually sent. A browser that the owner has used has its own count in
 * each of them.
 */
export const MAIL_LIMITS = {
  /** For one profile (or unknown name) and one address. */
  pair: [
    { most: 1, windowMs: MINUTE_MS },
    { most: 5, windowMs: HOUR_MS },
    { most: 10, windowMs: DAY_MS },
  ],
  /** From an IPv4 address, or an IPv6 network of 64 bits. */
  network: [{ most: 10, windowMs: HOUR_MS }],
  /** From an IPv6 network of 48 bits. */
  wideNetwork: [{ most: 100, windowMs: HOUR_MS }],
  /** Mails actually sent, to everybody. */
  sent: [{ most: 1_000, windowMs: HOUR_MS }],
} as const satisfies Record<string, readonly MailLimit[]>;

/** No count is needed for longer than this. */
const LONGEST_WINDOW_MS = DAY_MS;

/** The keyed hashes under which a request is counted for each limit. */
export type Counted = Record<keyof typeof MAIL_LIMITS, Buffer>;

/**
 * The origin of a request: the profile (or unknown name) with the address that was typed, the client's normalised
 * address, and the cookie of a browser that the owner of this profile has used, null for any other browser.
 */
export type Asking = { pair: readonly (string | number)[]; clientAddress: string; knownBrowser: string | null };

/**
 * The hashes under which a request is counted. A browser that the owner has used has its own counts, so that no
 * stranger uses them up.
 */
export function countedUnder(key: Uint8Array, { pair, clientAddress, knownBrowser }: Asking): Counted {
  const isKnown = knownBrowser !== null;
  const under = (limit: keyof Counted, ...others: readonly (string | number)[]) =>
    keyedHash(key, limit, ...(isKnown ? ['known browser', knownBrowser] : others));
  return {
    pair: keyedHash(key, 'pair', ...(isKnown ? ['known browser', knownBrowser] : []), ...pair),
    network: under('network', networkOf(clientAddress, 64)),
    // A single IPv4 address is its own network at either width.
    wideNetwork: under('wideNetwork', networkOf(clientAddress, 48)),
    sent: under('sent'),
  };
}

/** Whether the limits allow one more request, and one more mail actually sent. */
export function roomFor(db: Db, counted: Counted, nowMs: number): { toAsk: boolean; toSend: boolean } {
  const below = (limit: keyof Counted) => MAIL_LIMITS[limit].map((bound) => isBelow(db, counted[limit], bound, nowMs));
  const counts = [...below('pair'), ...below('network'), ...below('wideNetwork')];
  return { toAsk: counts.every(Boolean), toSend: below('sent').every(Boolean) };
}

/** How many mails were actually sent in the last hour, except to owners in known browsers. */
export function countSent(db: Db, key: Uint8Array, nowMs: number): number {
  return countWithin(db, keyedHash(key, 'sent'), HOUR_MS, nowMs);
}

/**
 * Counts a request for a code, and a mail if one is sent. If none is sent, writes a dummy row instead, so that the writes don't
 * reveal whether the profile and the address belong together.
 */
export function countAsk(db: Db, key: Uint8Array, counted: Counted, isSent: boolean, nowMs: number): void {
  const sent = isSent ? counted.sent : keyedHash(key, 'not sent');
  for (const countedUnder of [counted.pair, counted.network, counted.wideNetwork, sent]) {
    insertCount(db).run({ countedUnder, at: nowMs });
  }
}

const insertCount = keepQuery((db) => db.insert(mailCounts).values(placeholders('countedUnder', 'at')).prepare());

/**
 * Deletes what no limit counts any more, inside the caller's transaction; the caller has the settled time. Counts dated
 * ahead of the clock are kept as long as those behind it.
 */
export function dropOldCounts(db: Db, settledMs: number): void {
  const { at } = mailCounts;
  db.delete(mailCounts)
    .where(or(lte(at, settledMs - LONGEST_WINDOW_MS), gt(at, settledMs + LONGEST_WINDOW_MS)))
    .run();
}

function isBelow(db: Db, under: Buffer, { most, windowMs }: MailLimit, nowMs: number): boolean {
  return countWithin(db, under, windowMs, nowMs) < most;
}

/**
 * How many were counted less than a window from now. Times ahead of the clock count too, so that setting the clock back
 * frees nothing; none counts for longer than twice its window.
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
