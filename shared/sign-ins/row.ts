import { and, getTableColumns, gt, isNull, lte, or, type Placeholder, type SQL, sql } from 'drizzle-orm';
import type { Person } from '../actor.ts';
import { signIns } from '../sessions-file/schema.ts';
import { type Signed, signedOf } from '../sessions-file/whose.ts';

// The rows of the table of sign-ins. Nothing here reads or writes a file.

/** The person for whom pages act: an owner or an admin. */
export type SignedInPerson = Extract<Person, { kind: 'owner' | 'admin' }>;

/** Who is signed in, with the name on pages: an owner's username, or the admin's name. */
export type SignedIn = { person: SignedInPerson; name: string };

/** A live sign-in. Times are milliseconds since 1970. */
export type SignIn = {
  id: number;
  /** Its binding; sign-ins with the same binding are listed and ended together. */
  signed: Signed;
  startedAtMs: number;
  lastUsedAtMs: number;
  /** When it ends, however much it is used. */
  endsAtMs: number;
  /** The client that signed in: its normalised IP address, and the browser's user agent. */
  client: { address: string; agent: string };
};

/** A sign-in with its person. */
export type Session = SignIn & SignedIn;

/** A listed sign-in: `endedAtMs` is null while it is alive. */
export type Listed = SignIn & { endedAtMs: number | null };

/** A row of {@link columnsAt}. */
export type Row = typeof signIns.$inferSelect & { isAlive: boolean };

/** The columns to select at a time in milliseconds since 1970. */
export function columnsAt(nowMs: number | Placeholder) {
  return { ...getTableColumns(signIns), isAlive: sql<boolean>`${isAlive(nowMs)}`.mapWith(Boolean) };
}

/** A condition: the sign-in was not ended and has not expired. */
export function isAlive(nowMs: number | Placeholder): SQL | undefined {
  return and(isNull(signIns.endedAt), gt(signIns.idleUntil, nowMs));
}

/** A condition: the sign-in had ended or expired by a time. */
export function hasEndedAt(atMs: number): SQL | undefined {
  return or(lte(signIns.endedAt, atMs), lte(signIns.idleUntil, atMs));
}

/** When the sign-in of a row ended or expired; null while it is alive. */
export function endOf({ endedAt, idleUntil, isAlive }: Row, nowMs: number): number | null {
  return endedAt ?? (isAlive ? null : Math.min(nowMs, idleUntil));
}

/** The sign-in of a row, alive or not. */
export function signInOf(row: Row): SignIn {
  const { id, startedAt, lastUsedAt, endsAt, clientAddress, clientAgent } = row;
  return {
    ...{ id, signed: signedOf(row) },
    ...{ startedAtMs: startedAt, lastUsedAtMs: lastUsedAt, endsAtMs: endsAt },
    client: { address: clientAddress, agent: clientAgent },
  };
}
