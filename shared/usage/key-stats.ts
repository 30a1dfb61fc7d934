import { and, count, eq, inArray, lte, min, ne, sql } from 'drizzle-orm';
import type { Opened } from '../db/connect.ts';
import { guardDatabase } from '../db/faults.ts';
import {
  ATTEMPT_RESULTS,
  type AttemptResult,
  KEY_STATES,
  type KeyState,
  NOTICE_RESULTS,
  type NoticeResult,
} from '../db/key-columns.ts';
import { keepQuery } from '../db/prepared-query.ts';
import { apiKeys, keyAttempts } from '../db/schema/keys.ts';
import { notices } from '../db/schema/notices.ts';
import { withTables } from '../db/tables.ts';
import { attemptResultAt, SECRET_HOLDERS } from '../keys/key.ts';
import { WEBHOOK } from '../outbox/notice.ts';

/** The numbers of keys, approvals and notices by state, for `status` and the metrics. */
export type KeyStats = {
  /** An Active or suspended key past its expiry counts as expired, even before that state is stored. */
  states: Record<KeyState, number>;
  /** When the pending request that waits longest was made, milliseconds since 1970. */
  oldestPendingAt: number | null;
  /** Approval attempts by result, which is also that of the mails that carried secrets; `open` ones are in progress. */
  attempts: Record<AttemptResult, number>;
  /** Mails without a secret, by result. */
  notices: Record<NoticeResult, number>;
};

const NOW = sql.placeholder('now');

const statesOfKeys = keepQuery((db) => {
  const isOver = and(inArray(apiKeys.state, SECRET_HOLDERS), lte(apiKeys.expiresAt, NOW));
  const name = sql<KeyState>`iif(${isOver}, 'expired', ${apiKeys.state})`;
  return db.select({ name, count: count() }).from(apiKeys).groupBy(sql`1`).prepare();
});

const oldestPending = keepQuery((db) =>
  db
    .select({ at: min(apiKeys.requestedAt) })
    .from(apiKeys)
    .where(eq(apiKeys.state, 'pending'))
    .prepare(),
);

const openAttempts = keepQuery((db) =>
  db
    .select({ leaseEndsAt: keyAttempts.leaseEndsAt })
    .from(keyAttempts)
    .where(eq(keyAttempts.result, 'open').inlineParams())
    .prepare(),
);

const attemptsByResult = keepQuery((db) =>
  db.select({ name: keyAttempts.result, count: count() }).from(keyAttempts).groupBy(keyAttempts.result).prepare(),
);

const noticesByResult = keepQuery((db) =>
  db
    .select({ name: notices.result, count: count() })
    .from(notices)
    .where(ne(notices.recipient, WEBHOOK))
    .groupBy(notices.result)
    .prepare(),
);

/** Reads the numbers at this time. A thousand keys take about a millisecond. */
export function readKeyStats(opened: Opened, nowMs: number): KeyStats {
  const db = withTables(opened);
  return guardDatabase(db.$client.filename, () => {
    const attempts = countedBy(ATTEMPT_RESULTS, attemptsByResult(db).all());
    for (const { leaseEndsAt } of openAttempts(db).all()) {
      attempts.open--;
      attempts[attemptResultAt('open', leaseEndsAt, nowMs)]++;
    }
    return {
      states: countedBy(KEY_STATES, statesOfKeys(db).all({ now: nowMs })),
      oldestPendingAt: oldestPending(db).get()?.at ?? null,
      attempts,
      notices: countedBy(NOTICE_RESULTS, noticesByResult(db).all()),
    };
  });
}

function countedBy<Name extends string>(
  names: readonly Name[],
  rows: readonly { name: Name; count: number }[],
): Record<Name, number> {
  const counts = Object.fromEntries(names.map((name) => [name, 0])) as Record<Name, number>;
  for (const { name, count } of rows) counts[name] = count;
  return counts;
}
