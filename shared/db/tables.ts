import { drizzle } from 'drizzle-orm/bun-sqlite';
import type { Db, Opened } from './connect.ts';
import * as schema from './schema.ts';

/** An open main database through Drizzle. The server does without: to load it would be a fifth of its start. */
export function withTables({ $client }: Opened): Db {
  return drizzle($client, { schema });
}
