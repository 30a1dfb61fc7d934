import type { Sqlite } from '../../db/connect.ts';
import { type Held, type MergedRow, mergedRow } from '../edit/merged-row.ts';
import type { Entry } from '../edit/pass.ts';
import { prepareHolders } from '../edit/pending-names.ts';
import { heldByOther, type Refusal } from '../edit/refusal.ts';
import { createProfileReader, prepareRowReader } from '../record.ts';

/**
 * The names and auth IDs that profiles will have once their deferred lines are applied, and the profiles that have them
 * now. Stored in a temporary table, because a line may have any number of aliases.
 */
export type Wishes = {
  /** Sets the names that a profile will have after these lines, in order; without lines, it keeps its names. */
  set: (id: number, lines: readonly Entry[]) => void;
  /** The profile's line that needs a name that another profile will keep, and the refusal; null if there is none. */
  hopelessOf: (id: number) => { line: number; refusal: Refusal } | null;
  /** The profiles that need a name of this one. */
  waitersOf: (id: number) => number[];
  /** The profiles with the names that this one needs; all of them have deferred lines. */
  holdersOf: (id: number) => number[];
};

/**
 * A name or an auth ID that a profile will have. `line` is the line that assigns it, null if the profile already had
 * it.
 */
type Wish = { key: string; name: string | null; position: number | null; line: number | null };

type Hopeless = { line: number; holder: number; name: string | null; position: number };

/** Creates the temporary table. `merge` is whether fields missing from a line keep their values. */
export function createWishes(sqlite: Sqlite, merge: boolean): Wishes {
  sqlite.run('DROP TABLE IF EXISTS temp.wishes');
  sqlite.run('CREATE TEMP TABLE wishes (id, key, name, position, line, holder, PRIMARY KEY (id, key)) WITHOUT ROWID');
  sqlite.run('CREATE INDEX temp.wishes_holder ON wishes (holder)');
  const wishesOf = prepareWishes(sqlite, merge);
  const clear = sqlite.prepare('DELETE FROM temp.wishes WHERE id = ?');
  const insert = sqlite.prepare('INSERT INTO temp.wishes VALUES (?, ?, ?, ?, ?, ?)');
  const { nameHolder, authHolder } = prepareHolders(sqlite);
  const hopeless = sqlite.prepare<Hopeless, [number]>(
    `SELECT line, holder, name, position FROM temp.wishes AS wish WHERE id = ? AND holder IS NOT NULL AND line IS NOT NULL
       AND (NOT EXISTS (SELECT 1 FROM temp.deferred WHERE id = wish.holder)
         OR EXISTS (SELECT 1 FROM temp.wishes WHERE id = wish.holder AND key = wish.key))
       ORDER BY line DESC, position LIMIT 1`,
  );
  const waiters = sqlite.prepare<{ id: number }, [number]>('SELECT DISTINCT id FROM temp.wishes WHERE holder = ?');
  const holders = sqlite.prepare<{ id: number }, [number]>(
    'SELECT DISTINCT holder AS id FROM temp.wishes WHERE id = ? AND holder IN (SELECT id FROM temp.deferred)',
  );
  return {
    set: (id, lines) => {
      clear.run(id);
      for (const { key, name, position, line } of wishesOf(id, lines)) {
        const value = key.slice(PREFIX_LENGTH);
        const holder = (name === null ? authHolder.get(value) : nameHolder.get(value))?.id ?? id;
        insert.run(id, key, name, position, line, holder === id ? null : holder);
      }
    },
    hopelessOf: (id) => {
      const found = hopeless.get(id);
      if (found === null) return null;
      const { line, holder, name, position } = found;
      return { line, refusal: heldByOther(holder, name === null ? undefined : { name, position }) };
    },
    waitersOf: (id) => waiters.all(id).map((waiter) => waiter.id),
    holdersOf: (id) => holders.all(id).map((holder) => holder.id),
  };
}

const [NAME, AUTH_ID] = ['name:', 'auth:'] as const;
const PREFIX_LENGTH = NAME.length;

/** Prepares a function that computes the names and auth ID that a profile will have after some lines. */
function prepareWishes(sqlite: Sqlite, merge: boolean): (id: number, lines: readonly Entry[]) => Wish[] {
  const reader = createProfileReader(sqlite);
  const readRow = prepareRowReader(sqlite);
  return (id, lines) => {
    const row = readRow(id);
    let held: Held | null = row === null ? null : { row, names: reader.names(id) };
    const assignedBy = new Map<string, number>();
    for (const { number, line } of lines) {
      const wanted: MergedRow | Refusal | null = line.deleted
        ? null
        : mergedRow(line, held, { merge, nowMs: 0, writtenAt: 0 });
      // A line that will be refused for another reason changes nothing.
      if (wanted !== null && 'reason' in wanted) continue;
      held = wanted === null ? null : heldAfter(wanted);
      const { username, aliases = [], columns } = line;
      for (const { folded } of [username ?? [], aliases].flat()) assignedBy.set(NAME + folded, number);
      if (columns.authId != null) assignedBy.set(AUTH_ID + columns.authId, number);
    }
    if (held === null) return [];
    const names = held.names.map(({ folded, name, position }) => ({ key: NAME + folded, name, position }));
    const { authId } = held.row;
    const authWish = authId === null ? [] : { key: AUTH_ID + authId, name: null, position: null };
    return [names, authWish].flat().map((wish) => ({ ...wish, line: assignedBy.get(wish.key) ?? null }));
  };
}

function heldAfter({ row, names }: MergedRow): Held {
  return {
    row,
    names: names.map(({ folded, name }, position) => ({ folded, name, position })),
  };
}
