import { count, eq, min, type SQL } from 'drizzle-orm';
import type { Db } from '../db/connect.ts';
import {
  ATTEMPT_RESULTS,
  type AttemptResult,
  apiKeys,
  KEY_STATES,
  type KeyState,
  keyAttempts,
  MAIL_RESULTS,
  type MailResult,
} from '../db/schema.ts';
import { attemptResultAt, isInState } from '../keys/key.ts';
import { countMails } from '../mail/delivery.ts';

/** The numbers of keys, approvals and mails by state, for `status` and the metrics. */
export type KeyStats = {
  states: Record<KeyState, number>;
  /** When the pending request that waits longest was made, milliseconds since 1970. */
  oldestPendingAt: number | null;
  /** Approval attempts by result, which is also that of the mails that carried secrets; `open` ones are in progress. */
  attempts: Record<AttemptResult, number>;
  /** Mails without a secret, by result. */
  mails: Record<MailResult, number>;
};

/** Reads the numbers at this time. */
export function readKeyStats(db: Db, nowMs: number): KeyStats {
  const attempts = countedBy(ATTEMPT_RESULTS, countAttempts(db));
  const isOpen = eq(keyAttempts.result, 'open').inlineParams();
  const { leaseEndsAt } = keyAttempts;
  for (const { endsAt } of db.select({ endsAt: leaseEndsAt }).from(keyAttempts).where(isOpen).all()) {
    attempts.open--;
    attempts[attemptResultAt('open', endsAt, nowMs)]++;
  }
  return { ...readStates(db, nowMs), attempts, mails: countedBy(MAIL_RESULTS, countMails(db)) };
}

/** Reads the part of the numbers that the indexes hold. */
export function readStates(db: Db, nowMs: number): Pick<KeyStats, 'states' | 'oldestPendingAt'> {
  const isPending = eq(apiKeys.state, 'pending');
  const oldest = db
    .select({ at: min(apiKeys.requestedAt) })
    .from(apiKeys)
    .where(isPending)
    .get();
  const states = countedBy(KEY_STATES, countStates(db));
  for (const { name, count } of countStates(db, isInState('expired', nowMs))) {
    states[name] -= count;
    states.expired += count;
  }
  return { states, oldestPendingAt: oldest?.at ?? null };
}

/** Counts keys by their stored state: all, or those of a condition. */
function countStates(db: Db, which?: SQL) {
  const { state: name } = apiKeys;
  return db.select({ name, count: count() }).from(apiKeys).where(which).groupBy(name).all();
}

function countAttempts(db: Db) {
  const { result } = keyAttempts;
  return db.select({ name: result, count: count() }).from(keyAttempts).groupBy(result).all();
}

function countedBy<Name extends string>(
  names: readonly Name[],
  rows: readonly { name: Name; count: number }[],
): Record<Name, number> {
  const counts = Object.fromEntries(names.map((name) => [name, 0])) as Record<Name, number>;
  for (const { name, count } of rows) counts[name] = count;
  return counts;
}
