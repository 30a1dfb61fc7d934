import { and, count, eq, lt, sql } from 'drizzle-orm';
import { keepQuery } from '../db/prepared-query.ts';
import { apiKeys } from '../db/schema/keys.ts';
import type { Reader } from './view.ts';

// What owners of pending requests are shown: how many requests are ahead.

const olderThan = keepQuery((db) => {
  const { identifier, requestedAt, state } = apiKeys;
  const own = db
    .select({ requestedAt })
    .from(apiKeys)
    .where(eq(identifier, sql.placeholder('identifier')));
  return db
    .select({ count: count() })
    .from(apiKeys)
    .where(and(eq(state, 'pending').inlineParams(), lt(requestedAt, own)))
    .prepare();
});

/** How many pending requests are older than this one. */
export function countOlder({ db }: Pick<Reader, 'db'>, identifier: string): number {
  return olderThan(db).get({ identifier })?.count ?? 0;
}
