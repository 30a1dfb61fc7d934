import { drizzle } from 'drizzle-orm/bun-sqlite';
import type { Db, Opened, Sqlite } from './connect.ts';

const known = new WeakMap<Sqlite, Db>();

/** An open main database with its tables through Drizzle: the same object each time, since queries are kept for it. */
export function withTables({ $client }: Opened): Db {
  const made = known.get($client) ?? Object.assign(drizzle(keepingStatements($client)), { $client });
  known.set($client, made);
  return made;
}

/**
 * What Drizzle needs of a connection. By itself it has SQLite compile each statement anew, which takes longer than running
 * most of them; so it gets those that the connection keeps, which end with the connection.
 */
function keepingStatements(sqlite: Sqlite): Sqlite {
  const kept = {
    prepare: (text: string) => sqlite.query(text),
    transaction: sqlite.transaction.bind(sqlite),
    exec: sqlite.exec.bind(sqlite),
  };
  return new Proxy(sqlite, { get: (target, name) => Reflect.get(Object.hasOwn(kept, name) ? kept : target, name) });
}
