import type { Db, Tx } from '../db/connect.ts';
import type { TicketKind } from '../db/schema.ts';
import type { Random } from '../random.ts';

// One-time secrets: each allows its bearer one action, once. Only their SHA-256 is stored, and a row goes with its
// profile, admin or token. Functions run inside the caller's transaction; times are milliseconds since 1970.

const MINUTE_MS = 60_000;

/** How long each kind works. */
export const LIFETIMES_MS = {
  /** A code that is mailed to an owner, found by the secret of the browser that asked for it. */
  code: 10 * MINUTE_MS,
  /** The link to which a backend sends a user whom it has signed in. */
  'hand-over': MINUTE_MS,
  /** The link at which an admin registers a passkey. */
  enrolment: 15 * MINUTE_MS,
  /** The challenge that a new passkey signs. */
  registration: 5 * MINUTE_MS,
  /** The challenge that a passkey signs to sign in. It belongs to nobody. */
  passkey: 5 * MINUTE_MS,
} as const satisfies Record<TicketKind, number>;

/** How often a code may be tried; other secrets are too long to be guessed. */
const CODE_TRIES = 5;

/** To whom a ticket belongs; to nobody without any of these. */
type Owner = { profileId: number | null; adminId: number | null; openedBy: string | null };

/** A stored ticket. */
type Ticket = Owner & { until: number };

/** A new secret for a cookie or a link: 32 random bytes as base64url (43 characters). */
export function newToken(random: Random): string {
  return Buffer.from(random(32)).toString('base64url');
}

/** The stored form of secrets: their SHA-256, 32 bytes. */
export function hashOf(...texts: readonly string[]): Buffer {
  // The line feed distinguishes ("a", "bc") from ("ab", "c"); no token or code contains one.
  return new Bun.CryptoHasher('sha256').update(texts.join('\n')).digest();
}

/** Makes a ticket and returns when it expires. One with the same secret is replaced. */
export function makeTicket(
  { $client }: Tx,
  kind: TicketKind,
  secret: string,
  { profileId = null, adminId = null, openedBy = null }: Partial<Owner>,
  nowMs: number,
  code?: string,
): number {
  const until = nowMs + LIFETIMES_MS[kind];
  const [proof, tries] = code === undefined ? [null, null] : [hashOf(secret, code), CODE_TRIES];
  $client
    .query(
      `INSERT INTO tickets (hash, kind, proof, profile_id, admin_id, opened_by, until, tries_left)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
       ON CONFLICT (hash) DO UPDATE SET kind = ?2, proof = ?3, profile_id = ?4, admin_id = ?5, opened_by = ?6,
         until = ?7, tries_left = ?8`,
    )
    .run(hashOf(secret), kind, proof, profileId, adminId, openedBy, until, tries);
  return until;
}

const TICKET = 'profile_id AS profileId, admin_id AS adminId, opened_by AS openedBy, until';
const IS_VALID = 'hash = ? AND kind = ? AND until > ?';

/** Finds a valid ticket without using it; null if there is none. */
export function readTicket({ $client }: Db, kind: TicketKind, secret: string, nowMs: number): Ticket | null {
  const find = $client.query<Ticket, [Buffer, string, number]>(`SELECT ${TICKET} FROM tickets WHERE ${IS_VALID}`);
  return find.get(hashOf(secret), kind, nowMs);
}

/** Uses up a ticket and returns it; null if there is none. Of concurrent calls only one succeeds. */
export function useTicket({ $client }: Tx, kind: TicketKind, secret: string, nowMs: number): Ticket | null {
  const use = $client.query<Ticket, [Buffer, string, number]>(
    `DELETE FROM tickets WHERE ${IS_VALID} RETURNING ${TICKET}`,
  );
  return use.get(hashOf(secret), kind, nowMs);
}

/** Spends one of the tries of a browser's code. Returns whether `code` is right; false if no try is left. */
export function tryCode({ $client }: Tx, secret: string, code: string, nowMs: number): boolean {
  const spend = $client.query<{ proof: Uint8Array }, [Buffer, string, number]>(
    `UPDATE tickets SET tries_left = tries_left - 1 WHERE ${IS_VALID} AND tries_left > 0 RETURNING proof`,
  );
  const proof = spend.get(hashOf(secret), 'code', nowMs)?.proof;
  // Hashes of a secret that only this browser has may be compared in any way.
  return proof !== undefined && hashOf(secret, code).equals(proof);
}
