import type { AttemptResult, KeyState } from '../../db/key-columns.ts';

// The approval protocol as pure decisions: each is taken inside one immediate transaction that then writes what it
// says. `attemptNumber` is the fence. Whoever raises it makes every earlier mail worthless for good.

/** As much of a key as the protocol looks at. */
export type Approvable = {
  state: KeyState;
  /** Raised by every approval, rejection, withdrawal and revocation. */
  attemptNumber: number;
  /** The attempt that nobody has closed, if any. */
  open: { number: number; startedAt: number; leaseEndsAt: number } | null;
};

/** What an approver is told when it asks to begin. */
export type BeginDecision =
  | { kind: 'not pending' }
  | { kind: 'taken' }
  | {
      kind: 'begin';
      /** The fence of this attempt. */
      number: number;
      /** An attempt that crashed and is closed as "not confirmed" on the way, or null. */
      abandoned: number | null;
    };

/**
 * Step 1: only a pending key, and only while no other attempt holds its lease. A lease that begins in the future was
 * taken before the clock was set back: it holds nobody up, since the fence alone keeps the promise.
 */
export function decideBegin(key: Approvable, nowMs: number): BeginDecision {
  if (key.state !== 'pending') return { kind: 'not pending' };
  if (key.open !== null && key.open.startedAt <= nowMs && nowMs < key.open.leaseEndsAt) return { kind: 'taken' };
  return { kind: 'begin', number: key.attemptNumber + 1, abandoned: key.open?.number ?? null };
}

/** Step 3: the hash is stored only where nobody has raised the fence and the key is pending still. */
export function mayActivate(key: Approvable, number: number): boolean {
  return key.state === 'pending' && key.attemptNumber === number;
}

/** Which result closes an attempt whose mail was not accepted, or null where somebody else closed it already. */
export function closingResult(
  key: Approvable,
  number: number,
  outcome: 'refused' | 'unknown',
): Extract<AttemptResult, 'refused' | 'not confirmed'> | null {
  if (key.open?.number !== number) return null;
  return outcome === 'refused' ? 'refused' : 'not confirmed';
}
