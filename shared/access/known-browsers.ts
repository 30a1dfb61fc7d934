import { DAY_MS } from '../clock.ts';
import type { Sqlite } from '../db/connect.ts';
import type { Random } from '../random.ts';
import type { Binding } from './binding.ts';
import { dropPast, isWithin } from './periods.ts';
import { hashOf, isSameHash, newToken } from './tokens.ts';

// Browsers in which an owner has signed in. Such a browser lets nobody in; it only has a count of sign-in mails of its own,
// so that strangers who use the owner's up can't keep him out. It is known by a cookie, whose token is stored as SHA-256.

/** For how long after a sign-in a browser is known, in milliseconds. */
export const KNOWN_FOR_MS = 90 * DAY_MS;

type Row = { generation: number; addressHash: Uint8Array; signedInAt: number };

/** Whether the owner has signed in with this cookie's browser in the last 90 days, by the address that he has now. */
export function isKnownBrowser(sqlite: Sqlite, token: string | null, owner: Binding, nowMs: number): boolean {
  const row = sqlite
    .query<Row, [Uint8Array, number]>(
      `SELECT generation, address_hash AS addressHash, signed_in_at AS signedInAt FROM known_browsers
         WHERE token_hash = ? AND profile_id = ?`,
    )
    .get(hashOf(token ?? ''), owner.profileId);
  if (row === null || row.generation !== owner.generation) return false;
  return isSameHash(row.addressHash, owner.addressHash) && isWithin(row.signedInAt, KNOWN_FOR_MS, nowMs);
}

/**
 * Notes that the owner has signed in with this cookie's browser. Returns the new token for the cookie: each sign-in makes
 * one, and whom the browser knew by the old one it knows by the new one.
 */
export function knowBrowser(
  sqlite: Sqlite,
  random: Random,
  token: string | null,
  { profileId, generation, addressHash }: Binding,
  nowMs: number,
): string {
  const next = newToken(random);
  if (token !== null) {
    sqlite.query('UPDATE known_browsers SET token_hash = ? WHERE token_hash = ?').run(hashOf(next), hashOf(token));
  }
  sqlite
    .query(
      `INSERT INTO known_browsers (token_hash, profile_id, generation, address_hash, signed_in_at) VALUES (?, ?, ?, ?, ?)
         ON CONFLICT (token_hash, profile_id) DO UPDATE SET generation = excluded.generation,
           address_hash = excluded.address_hash, signed_in_at = excluded.signed_in_at`,
    )
    .run(hashOf(next), profileId, generation, addressHash, nowMs);
  return next;
}

/** Forgets the browsers in which this profile's owner has signed in, but for the one with the cookie `kept`. */
export function forgetBrowsers(sqlite: Sqlite, profileId: number, kept: string | null): void {
  sqlite
    .query('DELETE FROM known_browsers WHERE profile_id = ? AND token_hash <> ?')
    .run(profileId, hashOf(kept ?? ''));
}

/** Forgets browsers in which nobody has signed in for 90 days. */
export function dropOldBrowsers(sqlite: Sqlite, settledMs: number | null): void {
  dropPast(sqlite, { table: 'known_browsers', column: 'signed_in_at', lengthMs: KNOWN_FOR_MS }, settledMs);
}
