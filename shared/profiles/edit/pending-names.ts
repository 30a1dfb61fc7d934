import type { Sqlite } from '../../db/connect.ts';
import { createProfileReader, type StoredName } from '../record.ts';
import type { Name } from './line-values.ts';
import { laterOf, type NameConflict, type TakenAt } from './name-conflicts.ts';
import { heldByOther } from './refusal.ts';

// A pass applies some lines in one transaction. A name or auth ID that a line gives up is free for all other lines of
// the pass, even earlier ones. So a line that wants a name of another profile is not refused at once: the name is
// pending, in a temporary table, until all lines have been applied.

/** The names and auth IDs that lines of a pass want and that other profiles still had. */
export type PendingNames = {
  readonly sqlite: Sqlite;
  readonly reader: ReturnType<typeof createProfileReader>;
  readonly statements: ReturnType<typeof prepareStatements>;
  /** Whether any name is pending. Usually none is, and the temporary table need not be read. */
  anyNames: boolean;
  anyAuth: boolean;
};

/** The auth ID that a line wants for a profile; `held` is the one in the profile's row. */
export type AuthIdAssignment = { id: number; authId: string | null; held: string | null; line: number };

/** The names that a line wants for a profile, the username first. */
export type NamesAssignment = {
  id: number;
  names: readonly Name[];
  current: readonly StoredName[];
  line: number;
  isNew: boolean;
};

type WaitingName = StoredName & { id: number; line: number };
type WaitingAuth = { id: number; authId: string; line: number };

// SQLite moves large temporary tables to disk, rolls them back with the transaction, and drops them with the connection.
const TABLES = [
  'DROP TABLE IF EXISTS temp.waiting_names',
  'DROP TABLE IF EXISTS temp.waiting_auth',
  'CREATE TEMP TABLE waiting_names (place INTEGER PRIMARY KEY, id, folded, name, position, line)',
  'CREATE INDEX temp.waiting_names_id ON waiting_names (id)',
  'CREATE TEMP TABLE waiting_auth (place INTEGER PRIMARY KEY, id, authId, line)',
  'CREATE INDEX temp.waiting_auth_id ON waiting_auth (id)',
];

/** Creates the temporary tables and prepares the statements. A connection can have only one such object at a time. */
export function createPendingNames(sqlite: Sqlite): PendingNames {
  for (const table of TABLES) sqlite.run(table);
  const reader = createProfileReader(sqlite);
  return { sqlite, reader, statements: prepareStatements(sqlite), anyNames: false, anyAuth: false };
}

/** Prepares lookups of the profiles that have a folded name, or an auth ID. */
export function prepareHolders(sqlite: Sqlite) {
  return {
    nameHolder: sqlite.prepare<{ id: number; name: string; position: number }, [string]>(
      'SELECT profile_id AS id, name, position FROM profile_names WHERE folded = ?',
    ),
    authHolder: sqlite.prepare<{ id: number }, [string]>('SELECT id FROM profiles WHERE auth_id = ?'),
  };
}

function prepareStatements(sqlite: Sqlite) {
  return {
    ...prepareHolders(sqlite),
    clearNames: sqlite.prepare('DELETE FROM profile_names WHERE profile_id = ?'),
    addName: sqlite.prepare(
      `INSERT INTO profile_names (folded, profile_id, position, name) VALUES (?, ?, ?, ?)
       ON CONFLICT (folded) DO NOTHING`,
    ),
    awaitName: sqlite.prepare(
      'INSERT INTO temp.waiting_names (id, folded, name, position, line) VALUES (?, ?, ?, ?, ?)',
    ),
    namesAwaitedBy: sqlite.prepare<StoredName, [number]>(
      'SELECT folded, name, position FROM temp.waiting_names WHERE id = ?',
    ),
    dropNames: sqlite.prepare('DELETE FROM temp.waiting_names WHERE id = ?'),
    waitingNames: sqlite.prepare<WaitingName, []>('SELECT * FROM temp.waiting_names ORDER BY place'),
    setAuth: sqlite.prepare('UPDATE profiles SET auth_id = ? WHERE id = ?'),
    awaitAuth: sqlite.prepare('INSERT INTO temp.waiting_auth (id, authId, line) VALUES (?, ?, ?)'),
    dropAuth: sqlite.prepare('DELETE FROM temp.waiting_auth WHERE id = ?'),
    waitingAuth: sqlite.prepare<WaitingAuth, []>('SELECT * FROM temp.waiting_auth ORDER BY place'),
  };
}

/** Removes names left by an earlier pass; called when a pass begins. */
export function clearPendingNames(pending: PendingNames): void {
  pending.anyNames = false;
  pending.anyAuth = false;
  pending.sqlite.run('DELETE FROM temp.waiting_names');
  pending.sqlite.run('DELETE FROM temp.waiting_auth');
}

/** The stored and pending names of a profile, in order, the username first. */
export function namesWithPending({ reader, statements, anyNames }: PendingNames, id: number): StoredName[] {
  const held = reader.names(id);
  return anyNames ? [...held, ...statements.namesAwaitedBy.all(id)].sort((a, b) => a.position - b.position) : held;
}

/**
 * Replaces `current`, the stored and pending names of a profile. A name that another profile has becomes pending.
 * Returns whether anything changed.
 */
export function assignNames(
  pending: PendingNames,
  { id, names, current, line, isNew }: NamesAssignment,
  takenAt: TakenAt,
): boolean {
  const { reader, statements } = pending;
  if (sameNames(current, names)) return false;
  // The profile already had the names that it keeps, so conflicts about them must not be blamed on this line.
  const kept = new Set(isNew ? [] : reader.names(id).map(({ folded }) => folded));
  if (!isNew) statements.clearNames.run(id);
  if (pending.anyNames) statements.dropNames.run(id);
  for (const [position, { folded, name }] of names.entries()) {
    if (statements.addName.run(folded, id, position, name).changes === 0) {
      statements.awaitName.run(id, folded, name, position, line);
      pending.anyNames = true;
    } else if (!kept.has(folded)) takenAt.set(`name:${folded}`, line);
  }
  return true;
}

/** Returns the value for the profile's row: the auth ID, or null if another profile has it, which makes it pending. */
export function assignAuthId(
  pending: PendingNames,
  { id, authId, held, line }: AuthIdAssignment,
  takenAt: TakenAt,
): string | null {
  const { statements } = pending;
  if (pending.anyAuth) statements.dropAuth.run(id);
  if (authId === null || authId === held) return authId;
  const holder = statements.authHolder.get(authId);
  if (holder === null) takenAt.set(`auth:${authId}`, line);
  if (holder === null || holder.id === id) return authId;
  statements.awaitAuth.run(id, authId, line);
  pending.anyAuth = true;
  return null;
}

/** Drops the pending names of an erased profile. */
export function dropPendingNames({ anyNames, anyAuth, statements }: PendingNames, id: number): void {
  if (anyNames) statements.dropNames.run(id);
  if (anyAuth) statements.dropAuth.run(id);
}

/** Assigns the pending names and auth IDs that are free now, oldest first, and reports the others as conflicts. */
export function settlePendingNames(
  { anyNames, anyAuth, statements }: PendingNames,
  takenAt: TakenAt,
  onConflict: (conflict: NameConflict) => void,
): void {
  if (anyAuth) {
    for (const waiting of statements.waitingAuth.iterate()) {
      const conflict = settleAuth(statements, waiting, takenAt);
      if (conflict !== null) onConflict(conflict);
    }
  }
  if (anyNames) {
    for (const waiting of statements.waitingNames.iterate()) {
      const conflict = settleName(statements, waiting, takenAt);
      if (conflict !== null) onConflict(conflict);
    }
  }
}

function settleName(
  statements: PendingNames['statements'],
  waiting: WaitingName,
  takenAt: TakenAt,
): NameConflict | null {
  const { id, line, folded, name } = waiting;
  if (statements.addName.run(folded, id, waiting.position, name).changes > 0) {
    takenAt.set(`name:${folded}`, line);
    return null;
  }
  const holder = statements.nameHolder.get(folded) as { id: number; name: string; position: number };
  return laterOf(
    { line, id, refusal: heldByOther(holder.id, waiting) },
    { line: takenAt.get(`name:${folded}`), id: holder.id, refusal: heldByOther(id, holder) },
  );
}

function settleAuth(
  statements: PendingNames['statements'],
  { id, authId, line }: WaitingAuth,
  takenAt: TakenAt,
): NameConflict | null {
  const holder = statements.authHolder.get(authId);
  if (holder === null) {
    statements.setAuth.run(authId, id);
    takenAt.set(`auth:${authId}`, line);
    return null;
  }
  return laterOf(
    { line, id, refusal: heldByOther(holder.id) },
    { line: takenAt.get(`auth:${authId}`), id: holder.id, refusal: heldByOther(id) },
  );
}

function sameNames(before: readonly StoredName[], wanted: readonly Name[]): boolean {
  return before.length === wanted.length && wanted.every(({ name }, index) => before[index]?.name === name);
}
