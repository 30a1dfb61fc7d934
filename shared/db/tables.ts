import { drizzle } from 'drizzle-orm/bun-sqlite';
import type { Db, Opened, Sqlite } from './connect.ts';

const known = new WeakMap<Sqlite, Db>();

/** Wraps an open main database in Drizzle. Returns the same object each time, since queries are cached for it. */
export function withTables({ $client }: Opened): Db {
  const made = known.get($client) ?? Object.assign(drizzle(keepingStatements($client)), { $client });
  known.set($client, made);
  return made;
}

/**
 * The part of a connection that Drizzle uses. Drizzle would have SQLite compile each statement again, which takes
 * longer than running most of them; this returns the statements that the connection caches until it is closed.
 */
function keepingStatements(sqlite: Sqlite): Sqlite {
  const kept = {
    prepare: (text: string) => sqlite.query(text),
    transaction: sqlite.transaction.bind(sqlite),
    exec: sqlite.exec.bind(sqlite),
  };
  return new Proxy(sqlite, { get: (target, name) => Reflect.get(Object.hasOwn(kept, name) ? kept : target, name) });
}
