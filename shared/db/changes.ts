import type { Sqlite } from './connect.ts';

// Servers keep a cache of profiles. So each write transaction of this program adds a row to profile_changes that says
// which profiles it changed, or that it changed none (`write.ts`). A server reads the new rows at the start of the
// first view after the commit and drops exactly those profiles from its cache (`shared/profiles/lookup/cache.ts`). A
// commit without a row was made by somebody's own SQL, by VACUUM or by a migration; the server then drops all profiles.

/** The row of a transaction that changes more profiles than this only says that any profile may have changed. */
export const MAX_NOTED_IDS = 1_000;

/**
 * How many transactions' rows are kept. A reader that has missed more only learns that any profile may have changed.
 */
export const KEPT_TRANSACTIONS = 100;

/**
 * What has changed since a reader's last call: the `ids` of profiles, or null if any profile may have changed. `seq` is
 * the argument of the next call.
 */
export type ChangesSince = { seq: number; ids: readonly number[] | null };

/**
 * Returns which profiles have changed since the row `seq`; a reader that has seen no row passes 0. Throws SQLite's
 * errors.
 */
export type ChangeLog = { since: (seq: number) => ChangesSince };

/**
 * Notes, inside the transaction that is open, which profiles it changes: their rows, names or links. Null says that any
 * profile may have changed; an erasure notes that too, so that no id of an erased profile stays in the table. Each
 * transaction that changes profiles calls this once. (Triggers would do it by themselves; an import took 40 % longer.)
 */
export function noteChanges(sqlite: Sqlite, ids: ReadonlySet<number> | null): void {
  if (ids?.size === 0) return;
  addNote(sqlite, ids !== null && ids.size <= MAX_NOTED_IDS ? JSON.stringify([...ids]) : null);
}

/** Notes, inside the transaction that is open, that it changes no profile. */
export function noteNoChange(sqlite: Sqlite): void {
  addNote(sqlite, '[]');
}

function addNote(sqlite: Sqlite, known: string | null): void {
  const noted = sqlite.query('INSERT INTO profile_changes (profile_ids) VALUES (?)').run(known);
  const seq = Number(noted.lastInsertRowid);
  // Once any profile may have changed, earlier rows add nothing.
  const last = known === null ? seq - 1 : seq - KEPT_TRANSACTIONS;
  sqlite.query('DELETE FROM profile_changes WHERE seq <= ?').run(last);
}

/**
 * Prepares reading the newest rows: a single one if nothing has changed. Call it before reading profiles: what is read
 * in the same or a later snapshot is then never older than the returned `seq`.
 */
export function prepareChanges(sqlite: Sqlite): ChangeLog {
  const rowsFrom = sqlite.prepare<{ seq: number; ids: string | null }, [number]>(
    'SELECT seq, profile_ids AS ids FROM profile_changes WHERE seq >= ? ORDER BY seq',
  );
  return {
    since: (asked) => {
      const [seen, ...missed] = rowsFrom.all(asked);
      const seq = missed.at(-1)?.seq ?? seen?.seq ?? 0;
      // If the row that was read last is gone, others after it may be gone too.
      if (seen?.seq !== asked || missed.some(({ ids }) => ids === null)) return { seq, ids: null };
      return { seq, ids: [...new Set(missed.flatMap(({ ids }) => JSON.parse(ids as string) as number[]))] };
    },
  };
}
