import type { Person } from '../actor.ts';
import { DAY_MS } from '../clock.ts';
import type { Client } from './access.ts';
import type { Binding } from './binding.ts';
import { isWithin } from './periods.ts';

// What a row of the tables of sessions and of people's tokens means: whose it is, and when it ends. Nothing here reads or
// writes a file.

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

/** How long something lives unused, and how long at most, in milliseconds. */
export type Periods = Readonly<Record<'owner' | 'admin', { readonly idleMs: number; readonly mostMs: number }>>;

/** The periods of a session. */
export const SESSION_PERIODS = {
  owner: { idleMs: 24 * HOUR_MS, mostMs: 7 * DAY_MS },
  admin: { idleMs: 30 * MINUTE_MS, mostMs: 12 * HOUR_MS },
} as const satisfies Periods;

/** How long a session or a token is still shown after its end, in milliseconds. */
export const SHOWN_AFTER_END_MS = 30 * DAY_MS;

/**
 * Whose sessions: an owner's, as long as the profile is the same, or an admin's. `openedBy` is the identifier of the platform's
 * token by which this owner was handed over, and null for one who has entered a code.
 */
export type Signed =
  | ({ kind: 'owner'; openedBy: string | null } & Binding)
  | { kind: 'admin'; name: string; generation: number };

/** The person that pages act as: an owner, or an admin who has asserted nothing. */
export type SignedInPerson = Extract<Person, { kind: 'owner' | 'admin' }>;

/** A session that is alive. Times are milliseconds since 1970. */
export type Session = {
  id: number;
  person: SignedInPerson;
  /** What it is bound to; sessions of the same are listed and ended together. */
  signed: Signed;
  startedAtMs: number;
  lastUsedAtMs: number;
  /** When it ends at the latest, however much it is used. */
  endsAtMs: number;
  client: Client;
};

/** A session as it is listed: `endedAtMs` is null while it is alive. */
export type ListedSession = Omit<Session, 'person' | 'signed' | 'endsAtMs'> & { endedAtMs: number | null };

/** A row of the table. */
export type Row = {
  id: number;
  profileId: number | null;
  addressHash: Uint8Array | null;
  admin: string | null;
  generation: number;
  openedBy: string | null;
  startedAt: number;
  lastUsedAt: number;
  endedAt: number | null;
  address: string;
  agent: string;
};

/** The columns of a row that say whose it is. */
export type SignedColumns = Pick<Row, 'profileId' | 'addressHash' | 'admin' | 'generation' | 'openedBy'>;

/** The same columns, for a statement that reads them. */
export const SIGNED_COLUMNS =
  'profile_id AS profileId, address_hash AS addressHash, admin, generation, opened_by AS openedBy';

/** The columns of a row that say when it ends; `admin` says by which periods. */
export type TimeColumns = Pick<Row, 'admin' | 'startedAt' | 'lastUsedAt' | 'endedAt'>;

/** A value that a statement is given. */
export type Value = string | number | Uint8Array | null;

/** The columns of a {@link Row}. */
export const ROW = `id, ${SIGNED_COLUMNS}, started_at AS startedAt, last_used_at AS lastUsedAt, ended_at AS endedAt,
  client_address AS address, client_agent AS agent`;

/** When a session, or what has other periods, ended, or ends by itself before now; null while it is alive. */
export function endOf(row: TimeColumns, nowMs: number, periods: Periods = SESSION_PERIODS): number | null {
  if (row.endedAt !== null) return row.endedAt;
  const { idleMs, mostMs } = periods[row.admin === null ? 'owner' : 'admin'];
  if (isWithin(row.startedAt, mostMs, nowMs) && isWithin(row.lastUsedAt, idleMs, nowMs)) return null;
  return Math.min(row.startedAt + mostMs, row.lastUsedAt + idleMs, nowMs);
}

/** Whether a session or a token that ended then, or is alive, is still shown. */
export function isShown(endedAtMs: number | null, nowMs: number): boolean {
  return endedAtMs === null || nowMs < endedAtMs + SHOWN_AFTER_END_MS;
}

/** A row as it is listed. */
export function listed(row: Row, nowMs: number): ListedSession {
  const { id, startedAtMs, lastUsedAtMs, client } = sessionOf(row);
  return { id, startedAtMs, lastUsedAtMs, client, endedAtMs: endOf(row, nowMs) };
}

/** Some of the rows of a table: a condition, and the values for its question marks, in order. */
export type Rows = { sql: string; values: readonly Value[] };

/** The rows of this person, as far as they are bound to what the person is bound to. */
export function personsRows(signed: Signed): Rows {
  const { generation } = signed;
  if (signed.kind === 'admin') return { sql: 'admin = ? AND generation = ?', values: [signed.name, generation] };
  const { profileId, addressHash } = signed;
  return {
    sql: 'profile_id = ? AND address_hash = ? AND generation = ?',
    values: [profileId, addressHash, generation],
  };
}

/** All rows of this profile or admin, whatever they are bound to. */
export function everyRowOf(signed: Signed): Rows {
  if (signed.kind === 'admin') return { sql: 'admin = ?', values: [signed.name] };
  return { sql: 'profile_id = ?', values: [signed.profileId] };
}

/** The rows to which a hand-over by a platform's token led. */
export function openedRows(identifier: string): Rows {
  return { sql: 'opened_by = ?', values: [identifier] };
}

/** The columns that say whose a row is. */
export function columnsOf(signed: Signed): SignedColumns {
  const { generation } = signed;
  if (signed.kind === 'admin') {
    return { profileId: null, addressHash: null, admin: signed.name, generation, openedBy: null };
  }
  const { profileId, addressHash, openedBy } = signed;
  return { profileId, addressHash, admin: null, generation, openedBy };
}

/** A row as a living session. */
export function sessionOf(row: Row): Session {
  const signed = signedOf(row);
  return {
    id: row.id,
    signed,
    person: personOf(signed),
    startedAtMs: row.startedAt,
    lastUsedAtMs: row.lastUsedAt,
    endsAtMs: row.startedAt + SESSION_PERIODS[signed.kind].mostMs,
    client: { address: row.address, agent: row.agent },
  };
}

/** As whom somebody acts who is signed in so. */
export function personOf(signed: Signed): SignedInPerson {
  return signed.kind === 'owner'
    ? { kind: 'owner', name: 'owner', profileId: signed.profileId }
    : { kind: 'admin', name: signed.name, hasAsserted: false };
}

/** Whose a row is. */
export function signedOf({ profileId, addressHash, admin, generation, openedBy }: SignedColumns): Signed {
  if (admin !== null) return { kind: 'admin', name: admin, generation };
  const binding = { profileId: profileId as number, addressHash: addressHash as Uint8Array, generation };
  return { kind: 'owner', ...binding, openedBy };
}
