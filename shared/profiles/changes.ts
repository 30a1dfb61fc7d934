import type { Sqlite } from '../db/connect.ts';

/** Of a transaction that changes more profiles than these it is only noted that anything may have changed. */
export const MAX_NOTED_IDS = 1_000;

/** Who missed more transactions than these doesn't learn what they changed. */
export const KEPT_TRANSACTIONS = 100;

/** What changed since a reader last asked: `ids` is null where anything may have; `seq` is what to ask with next time. */
export type ChangesSince = { seq: number; ids: readonly number[] | null };

/** Reads the log of changes; who asks with 0 has seen nothing yet. Throws what SQLite does. */
export type ChangeLog = { since: (seq: number) => ChangesSince };

/**
 * Notes the profiles whose row, names or links the transaction that is open changes, for caches in other processes; null
 * where anything may have changed, and after an erasure, which leaves no id behind in the log. Every writer calls it
 * once in each such transaction. With app-level notes an import is as fast as without; triggers took 40 % more time.
 */
export function noteChanges(sqlite: Sqlite, ids: ReadonlySet<number> | null): void {
  if (ids?.size === 0) return;
  addNote(sqlite, ids !== null && ids.size <= MAX_NOTED_IDS ? JSON.stringify([...ids]) : null);
}

/** Notes that the transaction that is open changes no profile. */
export function noteNoChange(sqlite: Sqlite): void {
  addNote(sqlite, '[]');
}

function addNote(sqlite: Sqlite, known: string | null): void {
  const noted = sqlite.query('INSERT INTO profile_changes (profile_ids) VALUES (?)').run(known);
  const seq = Number(noted.lastInsertRowid);
  // Where anything may have changed, what changed before tells nobody more.
  const last = known === null ? seq - 1 : seq - KEPT_TRANSACTIONS;
  sqlite.query('DELETE FROM profile_changes WHERE seq <= ?').run(last);
}

/**
 * Prepares the reading: one look at the newest rows, of which there is one where nothing has changed. Ask before reading
 * profiles: what is read in the same snapshot or a later one is then never older than the `seq` that was told.
 */
export function prepareChanges(sqlite: Sqlite): ChangeLog {
  const rowsFrom = sqlite.prepare<{ seq: number; ids: string | null }, [number]>(
    'SELECT seq, profile_ids AS ids FROM profile_changes WHERE seq >= ? ORDER BY seq',
  );
  return {
    since: (asked) => {
      const [seen, ...missed] = rowsFrom.all(asked);
      const seq = missed.at(-1)?.seq ?? seen?.seq ?? 0;
      // Where the row that was seen last is gone, so may be others after it.
      if (seen?.seq !== asked || missed.some(({ ids }) => ids === null)) return { seq, ids: null };
      return { seq, ids: [...new Set(missed.flatMap(({ ids }) => JSON.parse(ids as string) as number[]))] };
    },
  };
}
