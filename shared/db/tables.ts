import { drizzle } from 'drizzle-orm/bun-sqlite';
import type { Db, Opened, Sqlite } from './connect.ts';

const known = new WeakMap<Sqlite, Db>();

/** Wraps an open main database in Drizzle. Returns the same object each time, since queries are cached for it. */
export function withTables({ $client }: Opened): Db {
  // Drizzle would have SQLite compile each statement again, which takes longer than running most of them. These are all that
  // it uses of a connection, which caches statements until it is closed.
  const client = {
    prepare: (text: string) => $client.query(text),
    transaction: $client.transaction.bind($client),
    exec: $client.exec.bind($client),
  };
  const made = known.get($client) ?? Object.assign(drizzle(client as Sqlite), { $client });
  known.set($client, made);
  return made;
}
