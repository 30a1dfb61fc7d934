import { lte, type SQL, sql } from 'drizzle-orm';
import type { SQLiteColumn } from 'drizzle-orm/sqlite-core';
import type { Clock } from '../clock.ts';
import type { Db } from '../db/connect.ts';
import { openBeside } from '../db/open.ts';
import { keyUsage } from '../db/schema/keys.ts';
import { withTables } from '../db/tables.ts';
import { write } from '../db/write.ts';
import { type Tally, USAGE_DAYS, USAGE_OUTCOMES } from '../keys/tally.ts';
import { dayOf } from './usage-counter.ts';

/** Writes counts of requests to the database, on a connection of its own. */
export type UsageStore = {
  /**
   * Adds tallies to the stored ones and deletes some of the rows that are kept no longer, none while the clock is not settled,
   * in one transaction.
   * Waits up to `waitMs` milliseconds for another process's lock, then throws `busy`.
   */
  add: (tallies: readonly Tally[], clock: Pick<Clock, 'settledMs'>, waitMs: number) => void;
  close: () => void;
};

/** How many expired rows one write deletes at most. */
const PRUNE_AT_ONCE = 500;

/** Opens the store in an existing, current database. Throws `busy`, or `refused` where the file can't be used. */
export function openUsageStore(path: string): UsageStore {
  const sqlite = openBeside(path);
  // NORMAL: survives a crash of the program; a power cut may take the latest minute of counts.
  sqlite.run('PRAGMA synchronous = NORMAL');
  const db = withTables({ $client: sqlite });
  const addTally = prepareAdd(db);
  const expired = db
    .select({ identifier: keyUsage.identifier, day: keyUsage.day })
    .from(keyUsage)
    .where(lte(keyUsage.day, sql.placeholder('last')))
    .limit(PRUNE_AT_ONCE);
  const prune = db.delete(keyUsage).where(sql`(${keyUsage.identifier}, ${keyUsage.day}) IN ${expired}`).prepare();
  return {
    add: (tallies, clock, waitMs) => {
      if (waitMs > 0) sqlite.run(`PRAGMA busy_timeout = ${waitMs}`);
      write(db, () => {
        for (const tally of tallies) addTally.run(tally);
        const settledMs = clock.settledMs();
        if (settledMs !== null) prune.run({ last: dayOf(settledMs) - USAGE_DAYS });
      });
    },
    close: () => sqlite.close(),
  };
}

/** Prepares adding a tally to what is stored of its key and day. */
function prepareAdd(db: Db) {
  const added = (column: SQLiteColumn) => sql`${column} + ${excluded(column)}`;
  const counts = Object.fromEntries(USAGE_OUTCOMES.map((outcome) => [outcome, added(keyUsage[outcome])]));
  return db
    .insert(keyUsage)
    .values({
      identifier: sql.placeholder('identifier'),
      day: sql.placeholder('day'),
      ok: sql.placeholder('ok'),
      notFound: sql.placeholder('notFound'),
      forbidden: sql.placeholder('forbidden'),
      malformed: sql.placeholder('malformed'),
      limited: sql.placeholder('limited'),
      failed: sql.placeholder('failed'),
      lastUsedAt: sql.placeholder('lastUsedAt'),
    })
    .onConflictDoUpdate({
      target: [keyUsage.identifier, keyUsage.day],
      set: { ...counts, lastUsedAt: sql`max(${keyUsage.lastUsedAt}, ${excluded(keyUsage.lastUsedAt)})` },
    })
    .prepare();
}

/** The value of a column in the row that could not be inserted. */
function excluded({ name }: SQLiteColumn): SQL {
  return sql`excluded.${sql.identifier(name)}`;
}
