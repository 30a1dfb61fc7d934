import { type Placeholder, sql } from 'drizzle-orm';
import type { Db, Tx } from './connect.ts';

/**
 * Caches a prepared query for each open database: Drizzle takes longer to generate most queries than SQLite takes to
 * run them. `make` prepares the query, with `sql.placeholder` for its varying values. The returned function returns the
 * query for a database, or for a transaction on it.
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

/** Placeholders for the values of an insert, each named after its column. */
export function placeholders<Name extends string>(...names: Name[]): { [One in Name]: Placeholder<One> } {
  return Object.fromEntries(names.map((name) => [name, sql.placeholder(name)])) as { [One in Name]: Placeholder<One> };
}
