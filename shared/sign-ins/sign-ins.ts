import { and, count, desc, eq, isNull, type SQL, sql } from 'drizzle-orm';
import type { Db } from '../db/connect.ts';
import { keepQuery } from '../db/prepared-query.ts';
import type { Deps } from '../deps.ts';
import { withShown } from '../profiles/profile-version.ts';
import { type SignInKind, signIns } from '../sessions-file/schema.ts';
import { flushSessions, readSessions, type SessionsFile, writeSessions } from '../sessions-file/sessions-file.ts';
import { hashOf, newToken } from '../sessions-file/tokens.ts';
import { columnsOf, isTheirs, type Signed } from '../sessions-file/whose.ts';
import { PERIODS, SHOWN_AFTER_END_MS } from './periods.ts';
import { columnsAt, endOf, isAlive, isOfKind, type Listed, type SignIn, signInOf } from './row.ts';
import { isStillSigned } from './still-signed.ts';
import { newTokenText } from './token-text.ts';

// Who is signed in, with a browser or a `profilectl` on another machine. A sign-in is found by the SHA-256 of its token, and every
// look at it compares what it is bound to: an owner's profile, row and address, an admin's name and generation. Functions throw
// `busy` where a lock is held for too long, and `refused` where a file can't be read or written.

/** What the functions of this room need. */
export type SignInDeps = Pick<Deps, 'db' | 'clock' | 'random'> & { sessions: SessionsFile };

/** From where somebody signs in; `machine` is what the machine of a `profilectl` calls itself, and is absent for a browser. */
export type Origin = { client: { address: string; agent?: string }; machine?: string };

/** How many sign-ins were alive until they were ended, by what was signed in: browsers, and `profilectl` on other machines. */
export type EndedSignIns = { sessions: number; logins: number };

/** The most sign-ins of a kind that are listed of one person. */
export const MOST_LISTED = 200;

/** The most characters that are kept of what a browser calls itself. */
const MAX_AGENT = 255;

/** The last use is written when the one that is stored is so old. */
const USE_STEP_MS = 60_000;

/**
 * Begins a sign-in. The token is returned this once and stored nowhere: 43 characters for a browser's cookie, the form of a
 * secret for a `profilectl`.
 */
export function beginSignIn(
  { sessions, clock, random }: Omit<SignInDeps, 'db'>,
  signed: Signed,
  { client, machine }: Origin,
): { token: string; signIn: SignIn } {
  const made = machine === undefined ? { token: newToken(random), identifier: null } : newTokenText('plt', random);
  const kind = machine === undefined ? 'browser' : 'profilectl';
  const { idleMs, mostMs } = PERIODS[kind][signed.kind];
  const row = writeSessions(sessions, (tables) => {
    const nowMs = clock.nowMs();
    return insertSignIn(tables).get({
      ...{ kind, tokenHash: hashOf(made.token), identifier: made.identifier, machine: machine ?? null },
      ...columnsOf(signed),
      ...{ nowMs, idleUntil: nowMs + idleMs, endsAt: nowMs + mostMs },
      ...{ clientAddress: client.address, clientAgent: (client.agent ?? '').slice(0, MAX_AGENT).toWellFormed() },
    });
  });
  return { token: made.token, signIn: signInOf({ ...row, isAlive: true }) };
}

const insertSignIn = keepQuery((tables) => {
  const { placeholder } = sql;
  const nowMs = placeholder('nowMs');
  return tables
    .insert(signIns)
    .values({
      ...{ kind: placeholder('kind'), tokenHash: placeholder('tokenHash') },
      ...{ identifier: placeholder('identifier'), machine: placeholder('machine') },
      ...{ profileId: placeholder('profileId'), addressHash: placeholder('addressHash') },
      ...{ admin: placeholder('admin'), generation: placeholder('generation'), openedBy: placeholder('openedBy') },
      ...{ startedAt: nowMs, lastUsedAt: nowMs, idleUntil: placeholder('idleUntil'), endsAt: placeholder('endsAt') },
      ...{ clientAddress: placeholder('clientAddress'), clientAgent: placeholder('clientAgent') },
    })
    .returning()
    .prepare();
});

const byToken = keepQuery((tables) =>
  tables
    .select(columnsAt(sql.placeholder('nowMs')))
    .from(signIns)
    .where(eq(signIns.tokenHash, sql.placeholder('tokenHash')))
    .prepare(),
);

/**
 * The sign-in of this kind that a token belongs to; null where there is none, where it was ended or its time is over, and where
 * the person is not the same any more: another address, an erased profile, a removed admin.
 */
export function readSignIn<Kind extends SignInKind>(deps: SignInDeps, kind: Kind, token: string): SignIn<Kind> | null {
  const { db, sessions, clock } = deps;
  const at = { tokenHash: hashOf(token), nowMs: clock.nowMs() };
  const row = readSessions(sessions, (tables) => byToken(tables).get(at));
  if (row === undefined || !row.isAlive) return null;
  const signIn = signInOf(row);
  // Read before it is compared with the sign-in: what the person then does is compared with this once more.
  const person = withShown(db, signIn.person);
  return isOfKind(signIn, kind) && isStillSigned(deps, signIn.signed) ? { ...signIn, person } : null;
}

/**
 * Notes that a sign-in was used now; called after the answer. Writes at most once a minute, and nothing while the clock is not
 * settled: with a time that lies ahead it would not be alive once the clock is right again.
 */
export function noteUse({ sessions, clock }: SignInDeps, { id, kind, signed, lastUsedAtMs }: SignIn): void {
  const seenMs = clock.settledMs();
  if (seenMs === null || Math.abs(seenMs - lastUsedAtMs) < USE_STEP_MS) return;
  const { idleMs } = PERIODS[kind][signed.kind];
  writeSessions(sessions, (tables) => {
    const settledMs = clock.settledMs();
    if (settledMs === null) return;
    const isDue = sql`abs(${settledMs} - ${signIns.lastUsedAt}) >= ${USE_STEP_MS}`;
    tables
      .update(signIns)
      .set({ lastUsedAt: settledMs, idleUntil: sql`min(${settledMs + idleMs}, ${signIns.endsAt})` })
      .where(and(eq(signIns.id, id), isNull(signIns.endedAt), isDue))
      .run();
  });
}

/**
 * Ends one of this person's sign-ins: a browser's by its id, a `profilectl`'s by its identifier. Returns whether it was alive:
 * one whose time was over before ended then.
 */
export function endSignIn(deps: SignInDeps, signed: Signed, which: number | string): boolean {
  const isIt = typeof which === 'number' ? eq(signIns.id, which) : eq(signIns.identifier, which);
  return endFlushed(deps, sql`${isTheirs(signIns, signed)} AND ${isIt}`) > 0;
}

/**
 * Ends the `profilectl` whose token somebody gives back; does nothing for every other text. Also one that is not alive just now,
 * which could live again once the clock is put right.
 */
export function endShownLogin(deps: SignInDeps, token: string): void {
  endFlushed(deps, sql`${eq(signIns.tokenHash, hashOf(token))} AND ${eq(signIns.kind, 'profilectl')}`);
}

function endFlushed({ sessions, clock }: SignInDeps, rows: SQL): number {
  const ended = writeSessions(sessions, (tables) => endSignIns(tables, rows, clock.nowMs()));
  flushSessions(sessions);
  return ended.sessions + ended.logins;
}

/**
 * Ends these sign-ins, inside a transaction of the caller, who flushes what is written. Returns how many of them, or of those that
 * are among `counted` too, were alive.
 */
export function endSignIns(tables: Db, rows: SQL, nowMs: number, counted = rows): EndedSignIns {
  const alive = tables
    .update(signIns)
    .set({ endedAt: sql`min(${nowMs}, ${signIns.idleUntil})` })
    .where(and(isNull(signIns.endedAt), rows))
    .returning({ kind: signIns.kind, wasAlive: sql<number>`${and(eq(signIns.endedAt, nowMs), counted)}` })
    .all()
    .filter(({ wasAlive }) => wasAlive === 1);
  const sessions = alive.filter(({ kind }) => kind === 'browser').length;
  return { sessions, logins: alive.length - sessions };
}

/**
 * The sign-ins of a kind of this person, {@link MOST_LISTED} at most: first those that nobody has ended, then those that were
 * ended in the last 30 days, each the newest first. Those of an earlier address, an erased profile or a removed admin are not
 * listed: they were perhaps another person's.
 */
export function listSignIns<Kind extends SignInKind>(
  { sessions, clock }: SignInDeps,
  signed: Signed,
  kind: Kind,
): Listed<Kind>[] {
  const nowMs = clock.nowMs();
  const rows = readSessions(sessions, (tables) =>
    tables
      .select(columnsAt(nowMs))
      .from(signIns)
      .where(and(isTheirs(signIns, signed), eq(signIns.kind, kind)))
      .orderBy(sql`${signIns.endedAt} IS NOT NULL`, desc(signIns.id))
      .limit(MOST_LISTED)
      .all(),
  );
  return rows.flatMap((row) => {
    const signIn = signInOf(row);
    const endedAtMs = endOf(row, nowMs);
    const isShown = endedAtMs === null || nowMs < endedAtMs + SHOWN_AFTER_END_MS;
    return isShown && isOfKind(signIn, kind) ? [{ ...signIn, endedAtMs }] : [];
  });
}

/** How many sign-ins of a kind are alive by their times. Throws `busy`, and `refused` where the file can't be read. */
export function countSignIns(sessions: SessionsFile, kind: SignInKind, nowMs: number): number {
  const found = readSessions(sessions, (tables) =>
    tables
      .select({ alive: count() })
      .from(signIns)
      .where(and(eq(signIns.kind, kind), isAlive(nowMs)))
      .get(),
  );
  return found?.alive ?? 0;
}
