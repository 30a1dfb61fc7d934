import { drizzle } from 'drizzle-orm/bun-sqlite';
import type { Db, Opened, Sqlite } from './connect.ts';

/** An open main database with its tables through Drizzle. */
export function withTables({ $client }: Opened): Db {
  return Object.assign(drizzle(keepingStatements($client)), { $client });
}

/**
 * What Drizzle needs of a connection. By itself it has SQLite compile each statement anew, which takes longer than running
 * most of them; so it gets those that the connection keeps, which end with the connection.
 */
function keepingStatements(sqlite: Sqlite): Sqlite {
  const kept = {
    prepare: sqlite.query.bind(sqlite),
    transaction: sqlite.transaction.bind(sqlite),
    exec: sqlite.exec.bind(sqlite),
  };
  return new Proxy(sqlite, { get: (target, name) => Reflect.get(Object.hasOwn(kept, name) ? kept : target, name) });
}
