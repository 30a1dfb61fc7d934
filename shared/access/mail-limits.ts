import type { Sqlite } from '../db/connect.ts';
import { networkOf } from '../net.ts';
import { dropPast } from './periods.ts';
import { keyedHash } from './tokens.ts';

// How many sign-in mails are sent. What is counted stands in the table mail_counts under a keyed hash: neither a name nor an
// address can be read from the file. What is asked for counts, whether or not it leads to a mail, so that nobody learns
// from the counts whether a profile and an address belong together.

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

/** At most so many within any such time. */
export type MailLimit = { most: number; windowMs: number };

/** The limits on what may be asked for, and on the mails that are really sent. */
export const MAIL_LIMITS = {
  /** For one profile (or name that no profile has) and one address; a browser that the profile knows has its own. */
  pair: [
    { most: 1, windowMs: MINUTE_MS },
    { most: 5, windowMs: HOUR_MS },
    { most: 10, windowMs: DAY_MS },
  ],
  /** From an IPv4 address, or an IPv6 network of 64 bits. */
  network: [{ most: 10, windowMs: HOUR_MS }],
  /** From an IPv6 network of 48 bits. */
  wideNetwork: [{ most: 100, windowMs: HOUR_MS }],
  /** Mails that are really sent, to everybody. */
  sent: [{ most: 1_000, windowMs: HOUR_MS }],
} as const satisfies Record<string, readonly MailLimit[]>;

/** No count is needed for longer than this. */
const LONGEST_WINDOW_MS = DAY_MS;

/** What an ask is counted under: keyed hashes. */
export type Counted = { pair: Uint8Array; network: Uint8Array; wideNetwork: Uint8Array };

/** What asks from this client address are counted under. The address must be normalised. */
export function countedNetworks(key: Uint8Array, address: string): Pick<Counted, 'network' | 'wideNetwork'> {
  return {
    network: keyedHash(key, 'network', networkOf(address, 64)),
    // One IPv4 address is its own network of either width.
    wideNetwork: keyedHash(key, 'wide network', networkOf(address, 48)),
  };
}

/** Whether there is room for one more ask. */
export function hasRoom(sqlite: Sqlite, counted: Counted, nowMs: number): boolean {
  const counts = [
    ...MAIL_LIMITS.pair.map((limit) => isBelow(sqlite, counted.pair, limit, nowMs)),
    ...MAIL_LIMITS.network.map((limit) => isBelow(sqlite, counted.network, limit, nowMs)),
    ...MAIL_LIMITS.wideNetwork.map((limit) => isBelow(sqlite, counted.wideNetwork, limit, nowMs)),
  ];
  return counts.every(Boolean);
}

/** Whether there is room for one more mail that is really sent. */
export function hasRoomToSend(sqlite: Sqlite, key: Uint8Array, nowMs: number): boolean {
  return MAIL_LIMITS.sent.every((limit) => isBelow(sqlite, keyedHash(key, 'sent'), limit, nowMs));
}

/** How many mails were really sent in the last hour. */
export function countSent(sqlite: Sqlite, key: Uint8Array, nowMs: number): number {
  return countWithin(sqlite, keyedHash(key, 'sent'), HOUR_MS, nowMs);
}

/**
 * Counts an ask, and a mail where one is sent. Where none is sent, a row that nobody counts takes its place: what is written
 * does not tell whether the profile and the address belong together.
 */
export function countAsk(sqlite: Sqlite, key: Uint8Array, counted: Counted, isSent: boolean, nowMs: number): void {
  const insert = sqlite.query('INSERT INTO mail_counts (counted_under, at) VALUES (?, ?)');
  const sent = keyedHash(key, isSent ? 'sent' : 'not sent');
  for (const under of [counted.pair, counted.network, counted.wideNetwork, sent]) insert.run(under, nowMs);
}

/** Deletes what no limit counts any more. */
export function dropOldCounts(sqlite: Sqlite, settledMs: number | null): void {
  const lengthMs = LONGEST_WINDOW_MS;
  dropPast(sqlite, { table: 'mail_counts', column: 'at', lengthMs, mostAheadMs: lengthMs }, settledMs);
}

function isBelow(sqlite: Sqlite, under: Uint8Array, { most, windowMs }: MailLimit, nowMs: number): boolean {
  return countWithin(sqlite, under, windowMs, nowMs) < most;
}

/**
 * How many were counted less than a window from now. Times ahead of the clock count too, so that setting the clock back
 * frees nothing; none counts for longer than twice its window.
 */
function countWithin(sqlite: Sqlite, under: Uint8Array, windowMs: number, nowMs: number): number {
  const row = sqlite
    .query<{ counted: number }, [Uint8Array, number, number]>(
      'SELECT count(*) AS counted FROM mail_counts WHERE counted_under = ? AND at > ? AND at < ?',
    )
    .get(under, nowMs - windowMs, nowMs + windowMs);
  return row?.counted ?? 0;
}
