import { and, count, desc, eq, isNull, type SQL, sql } from 'drizzle-orm';
import type { Db } from '../db/connect.ts';
import { keepQuery, placeholders } from '../db/prepared-query.ts';
import type { Deps } from '../deps.ts';
import { signIns } from '../sessions-file/schema.ts';
import { flushSessions, readSessions, type SessionsFile, writeSessions } from '../sessions-file/sessions-file.ts';
import { hashOf, newToken } from '../sessions-file/tokens.ts';
import { columnsOf, isTheirs, type Signed } from '../sessions-file/whose.ts';
import { PERIODS, SHOWN_AFTER_END_MS } from './periods.ts';
import { columnsAt, endOf, isAlive, type Listed, type Session, type SignIn, signInOf } from './row.ts';
import { readPerson } from './still-signed.ts';

// Sign-ins with a browser. A sign-in is found by the SHA-256 of its token, and
// each lookup compares its binding: an owner's profile, row and e-mail address, or an admin's name and generation.
// Functions throw `refused` if a file can't be read or written.

/** The dependencies of the functions in this folder. */
export type SignInDeps = Pick<Deps, 'db' | 'clock' | 'random'> & { sessions: SessionsFile };

/** The maximum number of sign-ins that are listed for one person. */
export const MAX_LISTED = 200;

/** Longer user agents are cut, in characters. */
const MAX_AGENT = 255;

/** A use is recorded only if the recorded last use is older than this. */
const USE_STEP_MS = 60_000;

/** Starts a sign-in. The token, the 43 characters of the cookie, is returned only here and never stored. */
export function beginSignIn(
  { sessions, clock, random }: Omit<SignInDeps, 'db'>,
  signed: Signed,
  client: { address: string; agent: string },
): { token: string; signIn: SignIn } {
  const token = newToken(random);
  const { idleMs, maxMs } = PERIODS[signed.kind];
  const row = writeSessions(sessions, (db) => {
    const nowMs = clock.nowMs();
    return insertSignIn(db).get({
      tokenHash: hashOf(token),
      ...columnsOf(signed),
      ...{ startedAt: nowMs, lastUsedAt: nowMs, idleUntil: nowMs + idleMs, endsAt: nowMs + maxMs },
      ...{ clientAddress: client.address, clientAgent: client.agent.slice(0, MAX_AGENT).toWellFormed() },
    });
  });
  return { token, signIn: signInOf({ ...row, isAlive: true }) };
}

const insertSignIn = keepQuery((db) =>
  db
    .insert(signIns)
    .values({
      ...placeholders('tokenHash', 'clientAddress', 'clientAgent'),
      ...placeholders('profileId', 'addressHash', 'admin', 'generation', 'openedBy'),
      ...placeholders('startedAt', 'lastUsedAt', 'idleUntil', 'endsAt'),
    })
    .returning()
    .prepare(),
);

const byToken = keepQuery((db) =>
  db
    .select(columnsAt(sql.placeholder('nowMs')))
    .from(signIns)
    .where(eq(signIns.tokenHash, sql.placeholder('tokenHash')))
    .prepare(),
);

/**
 * The sign-in with this token; null if there is none, if it was ended or has expired, or if the person has
 * changed: another e-mail address, an erased profile, a removed admin.
 */
export function readSignIn(deps: SignInDeps, token: string): Session | null {
  const { sessions, clock } = deps;
  const at = { tokenHash: hashOf(token), nowMs: clock.nowMs() };
  const row = readSessions(sessions, (db) => byToken(db).get(at));
  if (row === undefined || !row.isAlive) return null;
  const signIn = signInOf(row);
  const found = readPerson(deps, signIn.signed);
  return found === null ? null : { ...signIn, ...found };
}

/** Records that a sign-in was used now; called after the response. Writes at most once a minute. */
export function noteUse({ sessions, clock }: Pick<SignInDeps, 'sessions' | 'clock'>, signIn: SignIn): void {
  if (!isUseDue({ clock }, signIn)) return;
  const { id, signed } = signIn;
  const { idleMs } = PERIODS[signed.kind];
  writeSessions(sessions, (db) => {
    const nowMs = clock.nowMs();
    const isDue = sql`abs(${nowMs} - ${signIns.lastUsedAt}) >= ${USE_STEP_MS}`;
    db.update(signIns)
      .set({ lastUsedAt: nowMs, idleUntil: sql`min(${nowMs + idleMs}, ${signIns.endsAt})` })
      .where(and(eq(signIns.id, id), isNull(signIns.endedAt), isDue))
      .run();
  });
}

/** Whether {@link noteUse} would write. */
export function isUseDue({ clock }: Pick<SignInDeps, 'clock'>, { lastUsedAtMs }: SignIn): boolean {
  return Math.abs(clock.nowMs() - lastUsedAtMs) >= USE_STEP_MS;
}

/** Ends one of this person's sign-ins. Returns whether it was alive; an expired one was not. */
export function endSignIn({ sessions, clock }: SignInDeps, signed: Signed, id: number): boolean {
  const isIt = sql`${isTheirs(signIns, signed)} AND ${eq(signIns.id, id)}`;
  const ended = writeSessions(sessions, (db) => endSignIns(db, isIt, clock.nowMs()));
  flushSessions(sessions);
  return ended > 0;
}

/**
 * Ends these sign-ins, inside the transaction of the caller, who flushes it to the disk. Returns how many of those also
 * in `counted` were alive.
 */
export function endSignIns(db: Db, rows: SQL, nowMs: number, counted = rows): number {
  const alive = db
    .update(signIns)
    .set({ endedAt: sql`min(${nowMs}, ${signIns.idleUntil})` })
    .where(and(isNull(signIns.endedAt), rows))
    .returning({ wasAlive: sql`${and(eq(signIns.endedAt, nowMs), counted)}`.mapWith(Boolean) })
    .all()
    .filter(({ wasAlive }) => wasAlive);
  return alive.length;
}

/**
 * This person's sign-ins, at most {@link MAX_LISTED}: first those that were not ended, then those ended in
 * the last 30 days, each newest first. Those of an earlier e-mail address, an erased profile or a removed admin are not
 * listed, since they may have been another person's.
 */
export function listSignIns({ sessions, clock }: SignInDeps, signed: Signed): Listed[] {
  const nowMs = clock.nowMs();
  const rows = readSessions(sessions, (db) =>
    db
      .select(columnsAt(nowMs))
      .from(signIns)
      .where(isTheirs(signIns, signed))
      .orderBy(sql`${signIns.endedAt} IS NOT NULL`, desc(signIns.id))
      .limit(MAX_LISTED)
      .all(),
  );
  return rows.flatMap((row) => {
    const signIn = signInOf(row);
    const endedAtMs = endOf(row, nowMs);
    const isShown = endedAtMs === null || nowMs < endedAtMs + SHOWN_AFTER_END_MS;
    return isShown ? [{ ...signIn, endedAtMs }] : [];
  });
}

/** The number of live sign-ins. */
export function countSignIns(sessions: SessionsFile, nowMs: number): number {
  const found = readSessions(sessions, (db) => db.select({ alive: count() }).from(signIns).where(isAlive(nowMs)).get());
  return found?.alive ?? 0;
}
