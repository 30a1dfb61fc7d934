import type { Sqlite } from '../../db/connect.ts';
import { createProfileReader, type StoredName } from '../record.ts';
import type { Name } from './line-values.ts';
import { type Clash, laterOf, type TakenAt } from './name-conflicts.ts';
import { heldByOther } from './refusal.ts';

// A pass is the application of some lines in one transaction. A name or auth ID that a line gives up is free for every
// other line of the pass, also for earlier ones. So a line that claims what another profile has is not refused at once: its
// claim is stored in a temporary table, and settled when all lines were applied.

/** The names and auth IDs that lines of a pass claim and could not be given yet. */
export type NameClaims = {
  readonly sqlite: Sqlite;
  readonly reader: ReturnType<typeof createProfileReader>;
  readonly statements: ReturnType<typeof prepareStatements>;
  /** Whether any claim on a name was stored; mostly none is, and then the temporary table need not be read. */
  anyNames: boolean;
  /** Whether any claim on an auth ID was stored. */
  anyAuth: boolean;
};

/** The auth ID that a line wants for a profile; `held` is the one that stands in the profile's row. */
export type AuthClaim = { id: number; authId: string | null; held: string | null; line: number };

/** The names that a line wants for a profile, the username first. */
export type NamesClaim = {
  id: number;
  names: readonly Name[];
  current: readonly StoredName[];
  line: number;
  isNew: boolean;
};

type WaitingName = StoredName & { id: number; line: number };
type WaitingAuth = { id: number; authId: string; line: number };

// Temporary tables are on disk where they are large, roll back with the transaction, and vanish with the connection.
const TABLES = [
  'DROP TABLE IF EXISTS temp.waiting_names',
  'DROP TABLE IF EXISTS temp.waiting_auth',
  'CREATE TEMP TABLE waiting_names (place INTEGER PRIMARY KEY, id, folded, name, position, line)',
  'CREATE INDEX temp.waiting_names_id ON waiting_names (id)',
  'CREATE TEMP TABLE waiting_auth (place INTEGER PRIMARY KEY, id, authId, line)',
  'CREATE INDEX temp.waiting_auth_id ON waiting_auth (id)',
];

/** Creates the temporary tables and prepares the statements on a connection, which can have one such object at a time. */
export function createNameClaims(sqlite: Sqlite): NameClaims {
  for (const table of TABLES) sqlite.run(table);
  const reader = createProfileReader(sqlite);
  return { sqlite, reader, statements: prepareStatements(sqlite), anyNames: false, anyAuth: false };
}

function prepareStatements(sqlite: Sqlite) {
  return {
    clearNames: sqlite.prepare('DELETE FROM profile_names WHERE profile_id = ?'),
    addName: sqlite.prepare(
      `INSERT INTO profile_names (folded, profile_id, position, name) VALUES (?, ?, ?, ?)
       ON CONFLICT (folded) DO NOTHING`,
    ),
    nameHolder: sqlite.prepare<{ id: number; name: string; position: number }, [string]>(
      'SELECT profile_id AS id, name, position FROM profile_names WHERE folded = ?',
    ),
    awaitName: sqlite.prepare(
      'INSERT INTO temp.waiting_names (id, folded, name, position, line) VALUES (?, ?, ?, ?, ?)',
    ),
    namesAwaitedBy: sqlite.prepare<StoredName, [number]>(
      'SELECT folded, name, position FROM temp.waiting_names WHERE id = ?',
    ),
    dropNames: sqlite.prepare('DELETE FROM temp.waiting_names WHERE id = ?'),
    waitingNames: sqlite.prepare<WaitingName, []>('SELECT * FROM temp.waiting_names ORDER BY place'),
    authHolder: sqlite.prepare<{ id: number }, [string]>('SELECT id FROM profiles WHERE auth_id = ?'),
    setAuth: sqlite.prepare('UPDATE profiles SET auth_id = ? WHERE id = ?'),
    awaitAuth: sqlite.prepare('INSERT INTO temp.waiting_auth (id, authId, line) VALUES (?, ?, ?)'),
    dropAuth: sqlite.prepare('DELETE FROM temp.waiting_auth WHERE id = ?'),
    waitingAuth: sqlite.prepare<WaitingAuth, []>('SELECT * FROM temp.waiting_auth ORDER BY place'),
  };
}

/** Begins a pass: removes the claims that an earlier pass has left. */
export function beginClaims(claims: NameClaims): void {
  claims.anyNames = false;
  claims.anyAuth = false;
  claims.sqlite.run('DELETE FROM temp.waiting_names');
  claims.sqlite.run('DELETE FROM temp.waiting_auth');
}

/** The names that a profile has or claims, in order, the username first. */
export function claimedNames({ reader, statements, anyNames }: NameClaims, id: number): StoredName[] {
  const held = reader.names(id);
  return anyNames ? [...held, ...statements.namesAwaitedBy.all(id)].sort((a, b) => a.position - b.position) : held;
}

/**
 * Gives a profile these names instead of `current`, those that it has or claims; a name that another profile has is
 * claimed. Returns whether that changes anything.
 */
export function claimNames(
  claims: NameClaims,
  { id, names, current, line, isNew }: NamesClaim,
  takenAt: TakenAt,
): boolean {
  const { reader, statements } = claims;
  if (sameNames(current, names)) return false;
  // A name that the profile keeps is not taken by this line: the profile has had it since before.
  const kept = new Set(isNew ? [] : reader.names(id).map(({ folded }) => folded));
  if (!isNew) statements.clearNames.run(id);
  if (claims.anyNames) statements.dropNames.run(id);
  for (const [position, { folded, name }] of names.entries()) {
    if (statements.addName.run(folded, id, position, name).changes === 0) {
      statements.awaitName.run(id, folded, name, position, line);
      claims.anyNames = true;
    } else if (!kept.has(folded)) takenAt.set(`name:${folded}`, line);
  }
  return true;
}

/** Returns what to store in the profile's row now: the auth ID, or null while another profile has it; then it is claimed. */
export function claimAuthId(
  claims: NameClaims,
  { id, authId, held, line }: AuthClaim,
  takenAt: TakenAt,
): string | null {
  const { statements } = claims;
  if (claims.anyAuth) statements.dropAuth.run(id);
  if (authId === null || authId === held) return authId;
  const holder = statements.authHolder.get(authId);
  if (holder === null) takenAt.set(`auth:${authId}`, line);
  if (holder === null || holder.id === id) return authId;
  statements.awaitAuth.run(id, authId, line);
  claims.anyAuth = true;
  return null;
}

/** Removes the claims of a profile that is erased. */
export function dropClaims({ anyNames, anyAuth, statements }: NameClaims, id: number): void {
  if (anyNames) statements.dropNames.run(id);
  if (anyAuth) statements.dropAuth.run(id);
}

/** Ends a pass: gives each claim what is free by now, in the order of the claims, and reports the others as clashes. */
export function settleClaims(
  { anyNames, anyAuth, statements }: NameClaims,
  takenAt: TakenAt,
  onClash: (clash: Clash) => void,
): void {
  if (anyAuth) {
    for (const waiting of statements.waitingAuth.iterate()) {
      const clash = settleAuth(statements, waiting, takenAt);
      if (clash !== null) onClash(clash);
    }
  }
  if (anyNames) {
    for (const waiting of statements.waitingNames.iterate()) {
      const clash = settleName(statements, waiting, takenAt);
      if (clash !== null) onClash(clash);
    }
  }
}

function settleName(statements: NameClaims['statements'], waiting: WaitingName, takenAt: TakenAt): Clash | null {
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
  statements: NameClaims['statements'],
  { id, authId, line }: WaitingAuth,
  takenAt: TakenAt,
): Clash | null {
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
