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
import { attemptResultAt } from '../keys/key.ts';

/** How many keys, approvals and reminders there are in each state, for `status` and the metrics. */
export type KeyStats = {
  /** An Active or suspended key whose time is over counts as expired, whether the move is stored yet or not. */
  states: Record<KeyState, number>;
  /** When the pending request that waits longest was made, milliseconds since 1970. */
  oldestPendingAt: number | null;
  /** Approval attempts by result, and with it the mails that carried secrets; `open` ones are under way. */
  attempts: Record<AttemptResult, number>;
  /** Mails without a secret, by what became of them. */
  notices: Record<NoticeResult, number>;
};

/** Reads the numbers as they are at this time. A thousand keys take about a millisecond. Throws `busy`. */
export function readKeyStats({ $client: sqlite }: Opened, nowMs: number): KeyStats {
  return guardDatabase(sqlite.filename, () => {
    const states = countedBy(
      KEY_STATES,
      sqlite
        .query(
          `SELECT iif(state IN ('Active', 'suspended') AND expires_at <= ?, 'expired', state) AS name, count(*) AS count
             FROM api_keys GROUP BY 1`,
        )
        .all(nowMs),
    );
    const open = sqlite.query("SELECT lease_ends_at AS leaseEndsAt FROM key_attempts WHERE result = 'open'").all() as {
      leaseEndsAt: number;
    }[];
    const attempts = countedBy(
      ATTEMPT_RESULTS,
      sqlite.query('SELECT result AS name, count(*) AS count FROM key_attempts GROUP BY 1').all(),
    );
    for (const { leaseEndsAt } of open) {
      attempts.open--;
      attempts[attemptResultAt('open', leaseEndsAt, nowMs)]++;
    }
    const oldest = sqlite.query("SELECT min(requested_at) AS at FROM api_keys WHERE state = 'pending'").get();
    return {
      states,
      oldestPendingAt: (oldest as { at: number | null }).at,
      attempts,
      notices: countedBy(
        NOTICE_RESULTS,
        sqlite.query('SELECT result AS name, count(*) AS count FROM notices GROUP BY 1').all(),
      ),
    };
  });
}

function countedBy<Name extends string>(names: readonly Name[], rows: unknown[]): Record<Name, number> {
  const counts = Object.fromEntries(names.map((name) => [name, 0])) as Record<Name, number>;
  for (const { name, count } of rows as { name: Name; count: number }[]) counts[name] = count;
  return counts;
}
