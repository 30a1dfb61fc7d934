import { drizzle } from 'drizzle-orm/bun-sqlite';
import type { Db, Opened } from './connect.ts';

/** An open main database with its tables through Drizzle. */
export function withTables({ $client }: Opened): Db {
  return drizzle($client);
}
