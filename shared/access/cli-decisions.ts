import type { Person } from '../actor.ts';
import type { Sqlite } from '../db/connect.ts';
import { AppError } from '../errors.ts';
import { newIdentifier } from '../keys/secret.ts';
import type { Access } from './access.ts';
import { consumeAssertion, type SignedAdmin } from './assertions.ts';
import { LIVES_FOR_MS } from './challenges.ts';
import { type Decision, decisionText } from './decision.ts';
import { aroundNow, dropPast, isWithin, withinSql } from './periods.ts';
import type { PersonToken } from './person-tokens.ts';
import { readSessions, writeSessions } from './sessions-file.ts';
import type { Assertion } from './webauthn.ts';

// Decisions that an admin's `profilectl` on another machine asks for. Its token takes none: the admin lets exactly one
// through in the browser, by an assertion, and the same request, sent again, is carried out once. Each lives for five minutes
// in the sessions file. Functions throw `busy` where a lock is held for too long, and `refused` where the file fails.

/** How many decisions of one token may wait at a time. */
export const MOST_WAITING = 20;

/**
 * What has become of a decision: it waits for the admin, was confirmed, was refused, was carried out (`used`), or is over:
 * the one who asked was told that it was refused, or that the key has changed.
 */
export type DecisionState = 'open' | 'confirmed' | 'refused' | 'used' | 'over';

/** A decision that was asked for. */
export type AskedDecision = {
  /** Names it in its address; no secret. */
  id: string;
  decision: Decision;
  state: DecisionState;
  /** What the machine calls itself that asks, and from where it asked first. */
  machine: string;
  address: string;
  /** Milliseconds since 1970. */
  madeAtMs: number;
};

type Row = Omit<AskedDecision, 'decision'> & { asked: string; shown: string };

const ROW = `id, asked, shown, state, machine, client_address AS address, made_at AS madeAtMs`;

/**
 * Asks for a decision with an admin's token. Returns its id, the same one each time, and once, where the admin has let it
 * through, the person that may take it; null while it waits for him. Throws `changed_since` where the key is not any more as it was
 * when this was asked first, `decision_refused` once where the admin has refused, `too_many_challenges` where too many of this
 * token wait, and `busy` where another request carries it out at this moment.
 */
export function askDecision(
  access: Access,
  { identifier: token, signed, machine }: PersonToken & { signed: SignedAdmin },
  decision: Decision,
  address: string,
): { id: string; person: Person | null } {
  const nowMs = access.clock.nowMs();
  const asked = decisionText({ ...decision, shown: '' });
  const find = (sqlite: Sqlite) => findWaiting(sqlite, token, asked, nowMs);
  const found = readSessions(access.sessions, find);
  if (found?.state === 'refused') {
    end(access, found);
    throw new AppError('decision_refused');
  }
  if (found !== null && found.shown !== decision.shown) {
    end(access, found);
    throw new AppError('changed_since', CHANGED);
  }
  if (found?.state === 'open') return { id: found.id, person: null };
  if (found?.state === 'confirmed') return { id: found.id, person: use(access, found, signed) };
  return writeSessions(access.sessions, (sqlite) => {
    const again = find(sqlite);
    if (again !== null) return { id: again.id, person: null };
    const { waiting } = sqlite
      .query<{ waiting: number }, [string, number, number]>(
        `SELECT count(*) AS waiting FROM cli_decisions WHERE token = ? AND state = 'open' AND ${withinSql('made_at')}`,
      )
      .get(token, ...aroundNow(LIVES_FOR_MS, nowMs)) as { waiting: number };
    if (waiting >= MOST_WAITING) throw tooMany();
    const id = newIdentifier(access.random);
    sqlite
      .query(
        `INSERT INTO cli_decisions (id, token, admin, generation, asked, shown, machine, client_address, made_at, state)
           VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, 'open')`,
      )
      .run(id, token, signed.name, signed.generation, asked, decision.shown, machine, address, nowMs);
    return { id, person: null };
  });
}

const CHANGED = 'The key has changed since this was asked for; look at it again. Nothing was done.';

function tooMany(): AppError {
  const sentence = `${MOST_WAITING} decisions of this login wait for the admin; confirm or refuse them first.`;
  return new AppError('too_many_challenges', sentence, { retryAfterSeconds: LIVES_FOR_MS / 1000 });
}

function findWaiting(sqlite: Sqlite, token: string, asked: string, nowMs: number): Row | null {
  return sqlite
    .query<Row, [string, string, number, number]>(
      `SELECT ${ROW} FROM cli_decisions WHERE token = ? AND asked = ? AND state IN ('open', 'confirmed', 'refused')
         AND ${withinSql('made_at')} ORDER BY made_at DESC, id LIMIT 1`,
    )
    .get(token, asked, ...aroundNow(LIVES_FOR_MS, nowMs));
}

/** Uses a confirmed decision up: of several requests at once one gets the person, the others `busy`. */
function use(access: Access, row: Row, { name }: SignedAdmin): Person {
  if (move(access, row.id, 'confirmed', 'used')) return { kind: 'admin', name, hasAsserted: true, shown: row.shown };
  throw new AppError('busy', 'Another request carries this decision out; look at the key.', { isForClient: true });
}

/** Lets a decision that was used up be carried out after all, where a locked file has kept it from being done. */
export function giveBackDecision(access: Access, id: string): void {
  move(access, id, 'used', 'confirmed');
}

function end(access: Access, { id, state }: Row): void {
  move(access, id, state, 'over');
}

/** Moves a decision to another state. Returns whether it was still in the one that it is moved from. */
function move(access: Access, id: string, from: DecisionState, to: DecisionState): boolean {
  const { changes } = writeSessions(access.sessions, (sqlite) =>
    sqlite.query('UPDATE cli_decisions SET state = ? WHERE id = ? AND state = ?').run(to, id, from),
  );
  return changes === 1;
}

/**
 * A decision as its page shows it to the admin whose `profilectl` has asked for it. Throws `not_found` for every other one,
 * and once its five minutes are over.
 */
export function readAskedDecision(access: Access, admin: SignedAdmin, id: string): AskedDecision {
  const row = readSessions(access.sessions, (sqlite) =>
    sqlite
      .query<Row, [string, string, number]>(
        `SELECT ${ROW} FROM cli_decisions WHERE id = ? AND admin = ? AND generation = ?`,
      )
      .get(id, admin.name, admin.generation),
  );
  if (row === null || !isWithin(row.madeAtMs, LIVES_FOR_MS, access.clock.nowMs())) {
    throw new AppError('not_found', 'No decision of yours waits at this address, or its five minutes are over.');
  }
  const { asked, shown, ...rest } = row;
  return { ...rest, decision: { ...(JSON.parse(asked) as Decision), shown, askedAs: id } };
}

/**
 * Lets a decision through by an assertion for exactly this one. Throws what {@link readAskedDecision} and
 * {@link consumeAssertion} throw, and `forbidden` where it does not wait any more.
 */
export function confirmAskedDecision(access: Access, admin: SignedAdmin, id: string, sent: Assertion): void {
  const { decision } = readAskedDecision(access, admin, id);
  consumeAssertion(access, admin, sent, decision);
  if (!move(access, id, 'open', 'confirmed')) throw new AppError('forbidden', NOT_WAITING);
}

/** Refuses a decision; whoever asked for it is told. Throws `not_found`, and `forbidden` where it does not wait any more. */
export function refuseAskedDecision(access: Access, admin: SignedAdmin, id: string): void {
  readAskedDecision(access, admin, id);
  if (!move(access, id, 'open', 'refused')) throw new AppError('forbidden', NOT_WAITING);
}

const NOT_WAITING = 'This decision does not wait any more; nothing was done.';

/** Deletes the decisions whose time is over, inside a transaction of the caller. */
export function dropOldDecisions(sqlite: Sqlite, settledMs: number | null): void {
  dropPast(sqlite, { table: 'cli_decisions', column: 'made_at', lengthMs: LIVES_FOR_MS }, settledMs);
}
