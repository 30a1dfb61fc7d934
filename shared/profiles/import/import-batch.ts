import type { Clock } from '../../clock.ts';
import type { Db } from '../../db/connect.ts';
import { writeProfiles } from '../../db/write.ts';
import type { Applier } from '../edit/apply.ts';
import type { Loser, NameConflict } from '../edit/name-conflicts.ts';
import { type Applied, type ApplyOptions, addApplied, type Entry, NOTHING_APPLIED } from '../edit/pass.ts';
import { WAITS_BEHIND } from '../edit/refusal.ts';

/** The data shared by all batches of an import. */
export type BatchContext = Pick<ApplyOptions, 'merge' | 'onKeys' | 'confirms'> & {
  db: Db;
  clock: Pick<Clock, 'nowMs'>;
  apply: Applier;
  /** When the import's data was read, in milliseconds since 1970; null if unknown. */
  asOfMs: number | null;
};

/** The result of a batch; `refused` are the lines that conflicted with other lines or with the database. */
export type BatchResult = Applied & { refused: Loser[] };

/** Thrown inside a transaction to roll it back; never leaves this folder. */
export const ROLL_BACK = new Error('rolled back on purpose');

// A refused line's profile keeps its old names, which can make the next line conflict, and so on.
const MAX_ROUNDS = 8;

/**
 * Applies a batch as one transaction. If lines conflict, the transaction is rolled back, the losers are refused and the
 * rest is applied again, so that losers keep the names that they would have given up. Each round is a separate
 * transaction, which limits how long the lock is held. After eight rounds the batch is halved. With `mayWait`, a line
 * refused for a name will be retried; the later lines of its profile are then refused with it, so that they are applied
 * after it.
 */
export function applyBatch(context: BatchContext, entries: readonly Entry[], mayWait: boolean): BatchResult {
  const losers = new Map<number, Loser>();
  for (let round = 1; ; round++) {
    const left = entries.filter(({ number }) => !losers.has(number));
    const attempt = tryBatch(context, left);
    if (attempt.conflicts.length === 0) {
      attempt.refused.push(...losers.values());
      return attempt;
    }
    if (round >= MAX_ROUNDS && left.length > 1) return halve(context, left, losers, mayWait);
    for (const [line, loser] of losersOf(attempt.conflicts)) losers.set(line, loser);
    if (mayWait) for (const follower of followersOf(entries, losers)) losers.set(follower.line, follower);
  }
}

function halve(
  context: BatchContext,
  entries: readonly Entry[],
  losers: ReadonlyMap<number, Loser>,
  mayWait: boolean,
): BatchResult {
  const middle = Math.ceil(entries.length / 2);
  const first = applyBatch(context, entries.slice(0, middle), mayWait);
  const refusedFirst = new Map(first.refused.map((loser) => [loser.line, loser]));
  const followers = mayWait ? followersOf(entries.slice(middle), refusedFirst) : [];
  const followerLines = new Set(followers.map(({ line }) => line));
  const rest = entries.slice(middle).filter(({ number }) => !followerLines.has(number));
  const second = applyBatch(context, rest, mayWait);
  return {
    ...addApplied(first, second),
    refused: [...losers.values(), ...first.refused, ...followers, ...second.refused],
  };
}

/** The lines after one of the same profile that waits for a name; they wait behind it. */
function followersOf(entries: readonly Entry[], losers: ReadonlyMap<number, Loser>): Loser[] {
  const waitingFrom = new Map<number, number>();
  for (const { line, id, isForName } of losers.values()) {
    if (isForName) waitingFrom.set(id, Math.min(line, waitingFrom.get(id) ?? line));
  }
  return entries.flatMap(({ number, line: { id } }) => {
    const isFollower = number > (waitingFrom.get(id) ?? number) && !losers.has(number);
    return isFollower ? { line: number, id, refusal: WAITS_BEHIND, isForName: true } : [];
  });
}

function tryBatch(context: BatchContext, entries: readonly Entry[]): BatchResult & { conflicts: NameConflict[] } {
  const { db, clock, apply, merge, onKeys, confirms, asOfMs } = context;
  const refused: Loser[] = [];
  const conflicts: NameConflict[] = [];
  const result = { ...NOTHING_APPLIED, refused, conflicts };
  try {
    const applied = writeProfiles(db, (tx) => {
      const done = apply(tx, entries, {
        merge,
        onKeys,
        confirms,
        times: { nowMs: clock.nowMs(), asOfMs },
        takenAt: new Map(),
        refuse: (loser) => refused.push(loser),
        conflict: (conflict) => conflicts.push(conflict),
      });
      if (conflicts.length > 0) throw ROLL_BACK;
      return done;
    });
    return { ...result, ...applied };
  } catch (error) {
    if (error !== ROLL_BACK) throw error;
    return result;
  }
}

/**
 * The lines to refuse in this round. A line loses to names already in the database. It loses to another line only if
 * that one is not refused itself; earlier lines are decided first.
 */
function losersOf(conflicts: readonly NameConflict[]): Map<number, Loser> {
  const losers = new Map<number, Loser>();
  const lose = ({ winner: _, ...loser }: NameConflict): void => {
    if (!losers.has(loser.line)) losers.set(loser.line, loser);
  };
  for (const conflict of conflicts) if (conflict.winner === null) lose(conflict);
  const between = conflicts.filter(({ winner }) => winner !== null).toSorted((a, b) => a.line - b.line);
  for (const conflict of between) if (!losers.has(conflict.winner as number)) lose(conflict);
  return losers;
}
