import type { Sqlite } from './connect.ts';

// Servers cache profiles. So each write transaction of this program adds a row to profile_changes that says which
// profiles it changed, or that it changed none (`write.ts`). A server reads the new rows at the start of the first view
// after the commit and drops exactly those profiles from its cache (`shared/profiles/lookup/cache.ts`). A commit
// without a row comes from SQL that somebody ran by hand, a VACUUM or a migration; the server then drops all profiles.

/** If a transaction changes more profiles than this, its row only says that any profile may have changed. */
export const MAX_NOTED_IDS = 1_000;

/** How many transactions' rows are kept. A reader that has missed more assumes that any profile may have changed. */
export const KEPT_TRANSACTIONS = 100;

/**
 * The `ids` of the profiles that changed since a reader's last call, or null if any profile may have changed. `seq` is
 * the argument of the next call.
 */
export type ChangesSince = { seq: number; ids: readonly number[] | null };

/** Returns which profiles have changed since the row `seq`; a reader that has not seen any row passes 0. */
export type ChangeLog = { since: (seq: number) => ChangesSince };

/**
 * Records, inside the open transaction, which profiles it changes: their rows, names or links. Null means that any
 * profile may have changed; an erasure passes null too, so that the table holds no ids of erased profiles. Each
 * transaction that changes profiles calls this once. (With triggers instead, an import took 40% longer.)
 */
export function noteChanges(sqlite: Sqlite, ids: ReadonlySet<number> | null): void {
  if (ids?.size === 0) return;
  addNote(sqlite, ids !== null && ids.size <= MAX_NOTED_IDS ? JSON.stringify([...ids]) : null);
}

/** Records, inside the open transaction, that it changes no profile. */
export function noteNoChange(sqlite: Sqlite): void {
  addNote(sqlite, '[]');
}

function addNote(sqlite: Sqlite, known: string | null): void {
  const noted = sqlite.query('INSERT INTO profile_changes (profile_ids) VALUES (?)').run(known);
  const seq = Number(noted.lastInsertRowid);
  // Once any profile may have changed, earlier rows are redundant.
  const last = known === null ? seq - 1 : seq - KEPT_TRANSACTIONS;
  sqlite.query('DELETE FROM profile_changes WHERE seq <= ?').run(last);
}

/**
 * Prepares the query for the newest rows; if nothing has changed, it reads a single row. Call it before reading
 * profiles: data read in the same or a later snapshot is then never older than the returned `seq`.
 */
export function prepareChanges(sqlite: Sqlite): ChangeLog {
  const rowsFrom = sqlite.prepare<{ seq: number; ids: string | null }, [number]>(
    'SELECT seq, profile_ids AS ids FROM profile_changes WHERE seq >= ? ORDER BY seq',
  );
  return {
    since: (asked) => {
      const [seen, ...missed] = rowsFrom.all(asked);
      const seq = missed.at(-1)?.seq ?? seen?.seq ?? 0;
      // If the last row that the reader saw is gone, later rows may be gone too.
      if (seen?.seq !== asked || missed.some(({ ids }) => ids === null)) return { seq, ids: null };
      return { seq, ids: [...new Set(missed.flatMap(({ ids }) => JSON.parse(ids as string) as number[]))] };
    },
  };
}
