import { noteNoChange } from './changes.ts';
import type { Db, Sqlite, Tx } from './connect.ts';
import { guardDatabase } from './faults.ts';

// Every write transaction on the main database, but for those of migrations, is made here, so that each says which profiles
// it changes or that it changes none (`changes.ts`).

/**
 * Runs a function in one immediate transaction: the write lock is taken before the first read, so that what is read can't
 * be out of date. Notes that no profile changes, so that servers keep the profiles that they hold in memory. Throws `busy`
 * and `refused` for SQLite's faults, and the function's own errors; after any of them nothing is written.
 */
export function write<T>(db: Db, act: (tx: Tx) => T): T {
  return writeProfiles(db, (tx) => {
    const result = act(tx);
    noteNoChange(db.$client);
    return result;
  });
}

/** The same for a function that changes profiles, names or links; it notes which, by `noteChanges`. */
export function writeProfiles<T>(db: Db, act: (tx: Tx) => T): T {
  return guardDatabase(db.$client.filename, () =>
    db.transaction(
      (tx) => {
        const result = act(tx);
        if (result instanceof Promise)
          throw new Error('a transaction may not wait: it would commit at the first await');
        return result;
      },
      { behavior: 'immediate' },
    ),
  );
}

/**
 * Prepares {@link write} for a connection that works without Drizzle: the function that is returned runs `act` in an
 * immediate transaction, and notes that no profile changes. It throws what SQLite does.
 */
export function prepareWrite<Of extends unknown[], T>(sqlite: Sqlite, act: (...of: Of) => T): (...of: Of) => T {
  const transaction = sqlite.transaction((...of: Of) => {
    const result = act(...of);
    noteNoChange(sqlite);
    return result;
  });
  return (...of) => transaction.immediate(...of);
}
