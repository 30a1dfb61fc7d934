import { drizzle } from 'drizzle-orm/bun-sqlite';
import type { Db, Opened } from './connect.ts';
import * as schema from './schema.ts';

/** An open main database with its tables through Drizzle. */
export function withTables({ $client }: Opened): Db {
  return drizzle($client, { schema });
}
