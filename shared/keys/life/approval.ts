import type { AttemptResult, StoredState } from '../../db/key-columns.ts';

// The approval protocol as pure decisions, each made and stored inside one immediate transaction. `attemptNumber` is the
// fence: raising it permanently invalidates the secrets of all earlier mails.

/** The parts of a key that the approval protocol depends on. */
export type Approvable = {
  state: StoredState;
  /** Raised by every approval, rejection, withdrawal and revocation. */
  attemptNumber: number;
  /** The attempt that has no result yet. */
  open: { number: number; startedAt: number; leaseEndsAt: number } | null;
};

/** Whether an approval may begin; `taken` if another attempt is under way. */
type BeginDecision =
  | { kind: 'not pending' }
  | { kind: 'taken' }
  | {
      kind: 'begin';
      /** The fence of this attempt. */
      number: number;
      /** A crashed attempt that is closed as `not confirmed`, or null. */
      abandoned: number | null;
    };

/**
 * Step 1: the key must be pending, and no other attempt may hold its lease. A lease that begins in the future was taken before
 * the clock was set back and is ignored: the fence alone guarantees that only one secret works.
 */
export function decideBegin(key: Approvable, nowMs: number): BeginDecision {
  if (key.state !== 'pending') return { kind: 'not pending' };
  const { open } = key;
  if (open !== null && open.startedAt <= nowMs && nowMs < open.leaseEndsAt) return { kind: 'taken' };
  return { kind: 'begin', number: key.attemptNumber + 1, abandoned: open?.number ?? null };
}

/** Step 3: the hash may be stored only if the fence was not raised and the key is still pending. */
export function mayActivate(key: Approvable, number: number): boolean {
  return key.state === 'pending' && key.attemptNumber === number;
}

/** The result to store for an attempt whose mail was not accepted; null if the attempt is already closed. */
export function closingResult(
  key: Approvable,
  number: number,
  outcome: 'refused' | 'unknown',
): Extract<AttemptResult, 'refused' | 'not confirmed'> | null {
  if (key.open?.number !== number) return null;
  return outcome === 'refused' ? 'refused' : 'not confirmed';
}
