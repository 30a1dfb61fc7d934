import type { Sqlite } from '../db/connect.ts';
import type { Binding } from './binding.ts';
import { aroundNow, dropPast, isWithin, withinSql } from './periods.ts';
import { hashOf } from './tokens.ts';

// The rows of codes that were asked for. A code is stored only as the SHA-256 of it and the browser's secret together, so
// that whoever reads the file can't try all codes.

/** How long a code works, in milliseconds. */
export const CODE_PERIOD_MS = 10 * 60_000;

/** How often a code may be tried. */
export const CODE_TRIES = 5;

/** Removes a code that is right and returns whose it is; otherwise spends a try of the browser's code and returns null. */
export function takeCode(sqlite: Sqlite, secret: string, code: string, nowMs: number): Binding | null {
  const taken = sqlite
    .query<Binding, [Uint8Array, Uint8Array, number, number]>(
      `DELETE FROM sign_in_codes
         WHERE secret_hash = ? AND code_hash = ? AND tries_left > 0 AND ${withinSql('asked_at')}
         RETURNING profile_id AS profileId, generation, address_hash AS addressHash`,
    )
    .get(hashOf(secret), hashOf(secret, code), ...aroundNow(CODE_PERIOD_MS, nowMs));
  if (taken !== null) return taken;
  sqlite
    .query('UPDATE sign_in_codes SET tries_left = tries_left - 1 WHERE secret_hash = ? AND tries_left > 0')
    .run(hashOf(secret));
  return null;
}

/** Whether this browser has asked for the same before, by a code that still works. */
export function isAsking(sqlite: Sqlite, secret: string, askedFor: Uint8Array, nowMs: number): boolean {
  const row = sqlite
    .query<{ askedAt: number }, [Uint8Array, Uint8Array]>(
      'SELECT asked_at AS askedAt FROM sign_in_codes WHERE secret_hash = ? AND asked_for = ? AND tries_left > 0',
    )
    .get(hashOf(secret), askedFor);
  return row !== null && isWithin(row.askedAt, CODE_PERIOD_MS, nowMs);
}

/** A code that was asked for: the asking browser's secret, the keyed hash of what was typed, and whose code it is. */
export type NewCode = { secret: string; code: string; askedFor: Uint8Array; owner: Binding; nowMs: number };

/** Stores a code, with all its tries. */
export function insertCode(sqlite: Sqlite, { secret, code, askedFor, owner, nowMs }: NewCode): void {
  const { profileId, generation, addressHash } = owner;
  sqlite
    .query(
      `INSERT INTO sign_in_codes
         (secret_hash, code_hash, asked_for, profile_id, generation, address_hash, asked_at, tries_left)
         VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
    )
    .run(hashOf(secret), hashOf(secret, code), askedFor, profileId, generation, addressHash, nowMs, CODE_TRIES);
}

/** Drops the code of this browser. */
export function dropCodeOf(sqlite: Sqlite, secret: string): void {
  sqlite.query('DELETE FROM sign_in_codes WHERE secret_hash = ?').run(hashOf(secret));
}

/** Drops all codes that are too old to work. */
export function dropOldCodes(sqlite: Sqlite, settledMs: number | null): void {
  dropPast(sqlite, { table: 'sign_in_codes', column: 'asked_at', lengthMs: CODE_PERIOD_MS }, settledMs);
}
