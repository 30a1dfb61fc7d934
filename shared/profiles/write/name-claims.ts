import type { Sqlite } from '../../db/connect.ts';
import { createProfileReader, type StoredName } from '../record.ts';
import type { Name } from './line-values.ts';

/** Which line of the pass took a name (`name:` and its folded form) or an auth ID (`auth:` and it). */
export type TakenAt = { get: (what: string) => number | undefined; set: (what: string, line: number) => unknown };

/**
 * Two profiles want one name or auth ID. `loser` is the line to refuse and `winner` the line that has it; null where the
 * holder had it before the pass and keeps it.
 */
export type Clash = { loser: number; winner: number | null; reason: string };

/** Names and auth IDs of a pass: taken at once where they are free, else waiting until everything is given up. */
export type Stage = {
  begin: () => void;
  /** The names a profile has or waits for, in order. */
  names: (id: number) => StoredName[];
  /** Returns whether that changes anything. */
  claimNames: (id: number, names: readonly Name[], line: number, isNew: boolean, takenAt: TakenAt) => boolean;
  /** Returns what to store in the row now: the auth ID, or null where there is none yet; `held` is what stands there. */
  claimAuthId: (claim: AuthClaim, takenAt: TakenAt) => string | null;
  /** An erased profile waits for nothing. */
  forget: (id: number) => void;
  /** Gives those who wait what is free by now, and reports the rest. */
  settle: (takenAt: TakenAt, clash: (clash: Clash) => void) => void;
};

/** The auth ID that a line wants for a profile, and the one in its row. */
export type AuthClaim = { id: number; authId: string | null; held: string | null; line: number };

type WaitingName = StoredName & { id: number; line: number };
type WaitingAuth = { id: number; authId: string; line: number };

// On disk where they are many; they roll back with the transaction, and vanish with the connection.
const TABLES = [
  'DROP TABLE IF EXISTS temp.waiting_names',
  'DROP TABLE IF EXISTS temp.waiting_auth',
  'CREATE TEMP TABLE waiting_names (place INTEGER PRIMARY KEY, id, folded, name, position, line)',
  'CREATE INDEX temp.waiting_names_id ON waiting_names (id)',
  'CREATE TEMP TABLE waiting_auth (place INTEGER PRIMARY KEY, id, authId, line)',
  'CREATE INDEX temp.waiting_auth_id ON waiting_auth (id)',
];

/** Prepares the tables and statements of a stage on a connection, which has one stage at a time. */
export function createStage(sqlite: Sqlite): Stage {
  for (const table of TABLES) sqlite.run(table);
  const reader = createProfileReader(sqlite);
  const clearNames = sqlite.prepare('DELETE FROM profile_names WHERE profile_id = ?');
  const addName = sqlite.prepare(
    `INSERT INTO profile_names (folded, profile_id, position, name) VALUES (?, ?, ?, ?)
       ON CONFLICT (folded) DO NOTHING`,
  );
  const nameHolder = sqlite.prepare<{ id: number; name: string }, [string]>(
    'SELECT profile_id AS id, name FROM profile_names WHERE folded = ?',
  );
  const awaitName = sqlite.prepare(
    'INSERT INTO temp.waiting_names (id, folded, name, position, line) VALUES (?, ?, ?, ?, ?)',
  );
  const namesAwaitedBy = sqlite.prepare<StoredName, [number]>(
    'SELECT folded, name, position FROM temp.waiting_names WHERE id = ?',
  );
  const dropNames = sqlite.prepare('DELETE FROM temp.waiting_names WHERE id = ?');
  const waitingNames = sqlite.prepare<WaitingName, []>('SELECT * FROM temp.waiting_names ORDER BY place');
  const authHolder = sqlite.prepare<{ id: number }, [string]>('SELECT id FROM profiles WHERE auth_id = ?');
  const setAuth = sqlite.prepare('UPDATE profiles SET auth_id = ? WHERE id = ?');
  const awaitAuth = sqlite.prepare('INSERT INTO temp.waiting_auth (id, authId, line) VALUES (?, ?, ?)');
  const dropAuth = sqlite.prepare('DELETE FROM temp.waiting_auth WHERE id = ?');
  const waitingAuth = sqlite.prepare<WaitingAuth, []>('SELECT * FROM temp.waiting_auth ORDER BY place');

  // Mostly nobody waits, and then the tables need not be asked.
  let anyNames = false;
  let anyAuth = false;

  function names(id: number): StoredName[] {
    const held = reader.names(id);
    return anyNames ? [...held, ...namesAwaitedBy.all(id)].sort((a, b) => a.position - b.position) : held;
  }

  function settleName(waiting: WaitingName, takenAt: TakenAt, clash: (clash: Clash) => void): void {
    const { id, line, folded, name } = waiting;
    if (addName.run(folded, id, waiting.position, name).changes > 0) {
      takenAt.set(`name:${folded}`, line);
      return;
    }
    const holder = nameHolder.get(folded) as { id: number; name: string };
    const heldSince = takenAt.get(`name:${folded}`);
    clash(
      laterOf(
        { line, reason: `the name "${name}" is held by profile ${holder.id}` },
        { line: heldSince, reason: `the name "${holder.name}" is held by profile ${id}` },
      ),
    );
  }

  function settleAuth({ id, authId, line }: WaitingAuth, takenAt: TakenAt, clash: (clash: Clash) => void): void {
    const holder = authHolder.get(authId);
    if (holder === null) {
      setAuth.run(authId, id);
      takenAt.set(`auth:${authId}`, line);
      return;
    }
    const heldSince = takenAt.get(`auth:${authId}`);
    clash(
      laterOf(
        { line, reason: `the authId is held by profile ${holder.id}` },
        { line: heldSince, reason: `the authId is held by profile ${id}` },
      ),
    );
  }

  return {
    begin: () => {
      anyNames = false;
      anyAuth = false;
      sqlite.run('DELETE FROM temp.waiting_names');
      sqlite.run('DELETE FROM temp.waiting_auth');
    },
    names,
    claimNames: (id, wanted, line, isNew, takenAt) => {
      const before = isNew ? [] : names(id);
      if (sameNames(before, wanted)) return false;
      // Who keeps a name has it since whenever that was, not since this line.
      const kept = new Set(isNew ? [] : reader.names(id).map(({ folded }) => folded));
      if (!isNew) clearNames.run(id);
      if (anyNames) dropNames.run(id);
      for (const [position, { folded, name }] of wanted.entries()) {
        if (addName.run(folded, id, position, name).changes === 0) {
          awaitName.run(id, folded, name, position, line);
          anyNames = true;
        } else if (!kept.has(folded)) takenAt.set(`name:${folded}`, line);
      }
      return true;
    },
    claimAuthId: ({ id, authId, held, line }, takenAt) => {
      if (anyAuth) dropAuth.run(id);
      if (authId === null || authId === held) return authId;
      const holder = authHolder.get(authId);
      if (holder === null) takenAt.set(`auth:${authId}`, line);
      if (holder === null || holder.id === id) return authId;
      awaitAuth.run(id, authId, line);
      anyAuth = true;
      return null;
    },
    forget: (id) => {
      if (anyNames) dropNames.run(id);
      if (anyAuth) dropAuth.run(id);
    },
    settle: (takenAt, clash) => {
      if (anyAuth) for (const waiting of waitingAuth.iterate()) settleAuth(waiting, takenAt, clash);
      if (anyNames) for (const waiting of waitingNames.iterate()) settleName(waiting, takenAt, clash);
    },
  };
}

function sameNames(before: readonly StoredName[], wanted: readonly Name[]): boolean {
  return before.length === wanted.length && wanted.every(({ name }, index) => before[index]?.name === name);
}

type Side = { line: number; reason: string };

/** Of two who want the same, the later line loses; who had it before the pass never does. */
function laterOf(waiting: Side, holder: { line: number | undefined; reason: string }): Clash {
  if (holder.line === undefined) return { loser: waiting.line, winner: null, reason: waiting.reason };
  return waiting.line > holder.line
    ? { loser: waiting.line, winner: holder.line, reason: waiting.reason }
    : { loser: holder.line, winner: waiting.line, reason: holder.reason };
}
