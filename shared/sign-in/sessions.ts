import type { Person } from '../actor.ts';
import { DAY_MS } from '../clock.ts';
import type { Db, Tx } from '../db/connect.ts';
import { write, writeLoosely } from '../db/write.ts';
import type { Deps } from '../deps.ts';
import { AppError } from '../errors.ts';
import { hashOf, newToken } from './tickets.ts';

// Who is signed in with which browser. A sign-in is found by the SHA-256 of its cookie, and is deleted when it ends, or
// with the profile, the admin or the backend's token that it came from (`shared/db/schema.ts`).

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

/** How long a sign-in lasts unused (`idleMs`), and at most (`maxMs`). */
export const PERIODS = {
  owner: { idleMs: 24 * HOUR_MS, maxMs: 7 * DAY_MS },
  admin: { idleMs: 30 * MINUTE_MS, maxMs: 12 * HOUR_MS },
} as const;

/** The maximum number of sign-ins that are listed for one person. */
export const MAX_LISTED = 200;

/** Longer user agents are cut, in characters. */
const MAX_AGENT = 255;

/** A use is recorded only if the recorded last use is older than this. */
const USE_STEP_MS = MINUTE_MS;

/** The client of a sign-in: its normalised IP address, and the browser's user agent. */
export type Client = { address: string; agent: string };

/** The user agent as it is stored. */
export function agentText({ agent }: Client): string {
  return agent.slice(0, MAX_AGENT).toWellFormed();
}

/** The profile or the admin that somebody signed in as. */
type SignedAs = { profileId: number; adminId: null } | { profileId: null; adminId: number };

/** The person for whom pages act. */
export type SignedInPerson = Extract<Person, { kind: 'owner' | 'admin' }>;

/** A live sign-in. Times are milliseconds since 1970. */
export type Session = SignedAs & {
  id: number;
  startedAtMs: number;
  lastUsedAtMs: number;
  client: Client;
  person: SignedInPerson;
  /** The owner's username, or the admin's name. */
  name: string;
};

/** Starts a sign-in in the caller's transaction. The token, which is the cookie, is returned only here. */
export function beginSignIn(
  tx: Tx,
  { clock, random }: Pick<Deps, 'clock' | 'random'>,
  { profileId, adminId }: SignedAs,
  client: Client,
  openedBy: string | null = null,
): string {
  const token = newToken(random);
  const { idleMs, maxMs } = PERIODS[profileId === null ? 'admin' : 'owner'];
  const nowMs = clock.nowMs();
  tx.$client
    .query(
      `INSERT INTO sign_ins (token_hash, profile_id, admin_id, opened_by, started_at, last_used_at, idle_until, ends_at,
         client_address, client_agent) VALUES (?, ?, ?, ?, ?5, ?5, ?6, ?7, ?8, ?9)`,
    )
    .run(
      ...[hashOf(token), profileId, adminId, openedBy, nowMs, nowMs + idleMs, nowMs + maxMs],
      ...[client.address, agentText(client)],
    );
  return token;
}

type Row = SignedAs & {
  id: number;
  startedAtMs: number;
  lastUsedAtMs: number;
  address: string;
  agent: string;
  name: string;
};

const SELECT = `SELECT sign_ins.id, profile_id AS profileId, admin_id AS adminId, started_at AS startedAtMs,
  last_used_at AS lastUsedAtMs, client_address AS address, client_agent AS agent,
  coalesce(profiles.username, admins.name) AS name
  FROM sign_ins LEFT JOIN profiles ON profiles.id = profile_id LEFT JOIN admins ON admins.id = admin_id`;

function sessionOf({ address, agent, ...row }: Row): Session {
  const { id, profileId, name } = row;
  const person: SignedInPerson =
    profileId === null
      ? { kind: 'admin', name, signInId: id }
      : { kind: 'owner', name: 'owner', profileId, signInId: id };
  return { ...row, client: { address, agent }, person };
}

/** The sign-in with this token; null if there is none, or if it has expired. */
export function readSignIn({ db, clock }: { db: Db; clock: Deps['clock'] }, token: string): Session | null {
  const row = db.$client
    .query<Row, [Buffer, number]>(`${SELECT} WHERE token_hash = ? AND idle_until > ?`)
    .get(hashOf(token), clock.nowMs());
  return row === null ? null : sessionOf(row);
}

/**
 * Throws `signed_out` if the sign-in with which a person acts has ended. Call it in the transaction that writes: while
 * that waited for the write lock, the address of the profile may have been changed, or the admin removed.
 */
export function refuseSignedOut({ $client }: Db | Tx, { signInId }: { signInId?: number }): void {
  if (signInId === undefined) return;
  if ($client.query('SELECT 1 FROM sign_ins WHERE id = ?').get(signInId) !== null) return;
  throw new AppError('signed_out', 'You are no longer signed in; nothing was done.');
}

/** Whether {@link noteUse} would write. */
export function isUseDue(nowMs: number, { lastUsedAtMs }: Session): boolean {
  return Math.abs(nowMs - lastUsedAtMs) >= USE_STEP_MS;
}

/** Records that a sign-in was used now; called after the response. */
export function noteUse({ db, clock }: Pick<Deps, 'db' | 'clock'>, { id, profileId }: Session): void {
  const { idleMs } = PERIODS[profileId === null ? 'admin' : 'owner'];
  const nowMs = clock.nowMs();
  writeLoosely(db, ({ $client }) =>
    $client
      .query(
        'UPDATE sign_ins SET last_used_at = ?1, idle_until = min(?1 + ?2, ends_at) WHERE id = ?3 AND idle_until > ?1',
      )
      .run(nowMs, idleMs, id),
  );
}

// One of both is null, so IS finds exactly the rows of this person.
const IS_THEIRS = 'profile_id IS ? AND admin_id IS ?';

/** Ends one of this person's sign-ins. Returns whether there was one. */
export function endSignIn({ db }: Pick<Deps, 'db'>, { profileId, adminId }: SignedAs, id: number): boolean {
  return write(
    db,
    ({ $client }) =>
      $client.query(`DELETE FROM sign_ins WHERE ${IS_THEIRS} AND id = ?`).run(profileId, adminId, id).changes > 0,
  );
}

/**
 * Ends everything that gives access as this profile or admin, now or soon: sign-ins, codes and hand-over links. Returns
 * how many sign-ins there were.
 */
export function endAllSignIns({ db, clock }: Pick<Deps, 'db' | 'clock'>, { profileId, adminId }: SignedAs): number {
  return write(db, ({ $client }) => {
    $client.query(`DELETE FROM tickets WHERE kind IN ('code', 'hand-over') AND ${IS_THEIRS}`).run(profileId, adminId);
    const ended = $client
      .query<{ until: number }, (number | null)[]>(
        `DELETE FROM sign_ins WHERE ${IS_THEIRS} RETURNING idle_until AS until`,
      )
      .all(profileId, adminId);
    return ended.filter(({ until }) => until > clock.nowMs()).length;
  });
}

/** This person's sign-ins, newest first, at most {@link MAX_LISTED}. */
export function listSignIns(
  { db, clock }: { db: Db; clock: Deps['clock'] },
  { profileId, adminId }: SignedAs,
): Session[] {
  return db.$client
    .query<Row, (number | null)[]>(`${SELECT} WHERE ${IS_THEIRS} AND idle_until > ? ORDER BY sign_ins.id DESC LIMIT ?`)
    .all(profileId, adminId, clock.nowMs(), MAX_LISTED)
    .map(sessionOf);
}

/** The number of live sign-ins. */
export function countSignIns({ $client }: Db, nowMs: number): number {
  const counted = $client.query<{ n: number }, [number]>('SELECT count(*) AS n FROM sign_ins WHERE idle_until > ?');
  return counted.get(nowMs)?.n ?? 0;
}

/** Deletes expired sign-ins and tickets. Only a server that has run for a while trusts the clock, and calls this. */
export function sweepSignIns({ db, clock }: Pick<Deps, 'db' | 'clock'>): void {
  const nowMs = clock.nowMs();
  const isAny =
    'SELECT 1 FROM tickets WHERE until <= ?1 UNION ALL SELECT 1 FROM sign_ins WHERE idle_until <= ?1 LIMIT 1';
  // Most of the time there is nothing to delete, and so no reason to take the lock.
  if (db.$client.query(isAny).get(nowMs) === null) return;
  writeLoosely(db, ({ $client }) => {
    $client.query('DELETE FROM tickets WHERE until <= ?').run(nowMs);
    $client.query('DELETE FROM sign_ins WHERE idle_until <= ?').run(nowMs);
  });
}

// How sessions are listed.

/** Browsers by the marks in their User-Agents; one that also contains the marks of others comes before them. */
const BROWSERS: readonly (readonly [marks: readonly string[], name: string])[] = [
  [['Edg/', 'EdgA/', 'EdgiOS/'], 'Edge'],
  [['OPR/', 'OPT/', 'OPiOS/'], 'Opera'],
  [['SamsungBrowser/'], 'Samsung Internet'],
  [['Vivaldi/'], 'Vivaldi'],
  [['DuckDuckGo/', 'Ddg/'], 'DuckDuckGo'],
  [['FxiOS/', 'Firefox/'], 'Firefox'],
  [['CriOS/', 'Chrome/', 'HeadlessChrome/', 'Chromium/'], 'Chrome'],
  [['Safari/'], 'Safari'],
];

const SYSTEMS: readonly (readonly [mark: string, name: string])[] = [
  ['iPhone', 'iPhone'],
  ['iPad', 'iPad'],
  ['Android', 'Android'],
  ['CrOS', 'ChromeOS'],
  ['Windows', 'Windows'],
  ['Macintosh', 'macOS'],
  ['Linux', 'Linux'],
];

/**
 * The common name of the browser that sent a User-Agent, such as `Chrome on Linux`; `A browser` if it is unknown. Clients can
 * send anything: the name contains none of their text, and no decision may depend on it.
 */
export function browserName(agent: string): string {
  const browser = BROWSERS.find(([marks]) => marks.some((mark) => agent.includes(mark)))?.[1] ?? 'A browser';
  const system = SYSTEMS.find(([mark]) => agent.includes(mark))?.[1];
  return system === undefined ? browser : `${browser} on ${system}`;
}
