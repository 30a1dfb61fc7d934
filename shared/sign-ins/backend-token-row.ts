import { eq, sql } from 'drizzle-orm';
import type { Opened } from '../db/connect.ts';
import { guardDatabase } from '../db/faults.ts';
import { keepQuery } from '../db/prepared-query.ts';
import { platformTokens } from '../db/schema/people.ts';
import { withTables } from '../db/tables.ts';

const byIdentifier = keepQuery((db) =>
  db
    .select({ identifier: platformTokens.identifier })
    .from(platformTokens)
    .where(eq(platformTokens.identifier, sql.placeholder('identifier')))
    .prepare(),
);

/** Whether a backend's token with this identifier exists. */
export function isPlatformToken(db: Opened, identifier: string): boolean {
  const row = guardDatabase(db.$client.filename, () => byIdentifier(withTables(db)).get({ identifier }));
  return row !== undefined;
}
