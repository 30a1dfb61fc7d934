import { and, eq } from 'drizzle-orm';
import { isoTime } from '../clock.ts';
import type { Sqlite } from '../db/connect.ts';
import { admins } from '../db/schema/people.ts';
import { AppError } from '../errors.ts';
import type { Access } from './access.ts';
import type { Admin } from './passkeys.ts';
import { dropPast, isWithin } from './periods.ts';
import { readSessions, writeSessions } from './sessions-file.ts';
import { hashOf, newToken } from './tokens.ts';

// The addresses at which admins register a passkey: each works once, for 15 minutes, and only while the admin was not
// invited anew or removed. The secret stands behind the # of the address, which browsers keep to themselves: it is in no
// log of a proxy and in no Referer. The page's script sends it in the body of a POST. registration.ts has what happens there.

const WORKS_FOR_MS = 15 * 60_000;

/** Where a passkey is registered. The address is shown this once; stored is only the SHA-256 of its secret. */
export type Invitation = { name: string; address: string; expiresAt: string };

/** What the page of an address may show before anything is decided. */
export type Enrolment = { name: string; expiresAtMs: number };

type Row = { admin: string; generation: number; madeAt: number };

/**
 * Makes an address for the admin of this name and generation. Older ones stay in the table, where they lead nowhere once the
 * admin has another generation: of two commands at once, the one that stores its generation last has the address that works.
 */
export function invite(access: Access, name: string, generation: number): Invitation {
  const secret = newToken(access.random);
  const madeAtMs = writeSessions(access.sessions, (sqlite) => {
    const nowMs = access.clock.nowMs();
    dropOldEnrolments(sqlite, access.clock.settledMs());
    sqlite
      .query('INSERT INTO enrolments (secret_hash, admin, generation, made_at) VALUES (?, ?, ?, ?)')
      .run(hashOf(secret), name, generation, nowMs);
    return nowMs;
  });
  const address = `${access.config.publicUrl}/developers/enrol#${secret}`;
  return { name, address, expiresAt: isoTime(madeAtMs + WORKS_FOR_MS) };
}

/** Deletes the addresses whose time is over, inside a transaction of the caller. */
export function dropOldEnrolments(sqlite: Sqlite, settledMs: number | null): void {
  dropPast(sqlite, { table: 'enrolments', column: 'made_at', lengthMs: WORKS_FOR_MS }, settledMs);
}

/** Until when an admin's address works, milliseconds since 1970; null where there is none or it was used. */
export function invitedUntil(access: Access, { name, generation }: Pick<Admin, 'name' | 'generation'>): number | null {
  const row = readSessions(access.sessions, (sqlite) =>
    sqlite
      .query<{ madeAt: number }, [string, number]>(
        'SELECT made_at AS madeAt FROM enrolments WHERE admin = ? AND generation = ?',
      )
      .get(name, generation),
  );
  const isOpen = row !== null && isWithin(row.madeAt, WORKS_FOR_MS, access.clock.nowMs());
  return isOpen ? row.madeAt + WORKS_FOR_MS : null;
}

/** Looks an address up by its secret and changes nothing. Throws `forbidden`, with one sentence for all reasons. */
export function readEnrolment(access: Access, secret: string): Enrolment {
  const { admin, expiresAtMs } = findEnrolment(access, secret);
  return { name: admin.name, expiresAtMs };
}

/** Whose address has this secret, and until when it works, in milliseconds since 1970. Throws `forbidden`, like {@link readEnrolment}. */
export function findEnrolment(access: Access, secret: string): { admin: Admin; expiresAtMs: number } {
  const row = readSessions(access.sessions, (sqlite) =>
    sqlite
      .query<Row, [Uint8Array]>('SELECT admin, generation, made_at AS madeAt FROM enrolments WHERE secret_hash = ?')
      .get(hashOf(secret)),
  );
  if (row === null || !isWithin(row.madeAt, WORKS_FOR_MS, access.clock.nowMs())) throw enrolmentOver();
  const isInvited = and(eq(admins.name, row.admin), eq(admins.generation, row.generation));
  const admin = access.db.select().from(admins).where(isInvited).get();
  if (admin === undefined) throw enrolmentOver();
  return { admin, expiresAtMs: row.madeAt + WORKS_FOR_MS };
}

/** Deletes the address, which at most one process can do, inside a transaction of the caller. Throws `forbidden`. */
export function useEnrolment({ clock }: Access, sqlite: Sqlite, secret: string): Row {
  const row = sqlite
    .query<Row, [Uint8Array]>(
      'DELETE FROM enrolments WHERE secret_hash = ? RETURNING admin, generation, made_at AS madeAt',
    )
    .get(hashOf(secret));
  if (row === null || !isWithin(row.madeAt, WORKS_FOR_MS, clock.nowMs())) throw enrolmentOver();
  return row;
}

/** The error for an address that does not work, with one sentence for all reasons. */
export function enrolmentOver(): AppError {
  return new AppError(
    'forbidden',
    'This address does not work, or not any more: it works once, for 15 minutes. Ask the operator for another, which "profilectl admins invite" prints.',
  );
}
