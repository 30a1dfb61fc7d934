import type { Db, Tx } from './connect.ts';

/**
 * A query that is made once for each open database and then kept, for queries that many requests need: Drizzle takes longer
 * to write most of them as SQL than SQLite takes to run them. `make` prepares it, with `sql.placeholder` where its values
 * differ. The function that is returned gives the query for a database, or for a transaction on it.
 */
export function keepQuery<Query>(make: (db: Db | Tx) => Query): (db: Db | Tx) => Query {
  const kept = new WeakMap<Db | Tx, Query>();
  return (db) => {
    const known = kept.get(db);
    if (known !== undefined) return known;
    const made = make(db);
    kept.set(db, made);
    return made;
  };
}
