import { and, eq, gt, inArray, isNull, lte, or, type SQL } from 'drizzle-orm';
import {
  type AttemptResult,
  apiKeys,
  KEY_STATES,
  type KeyEventName,
  type KeyState,
  STORED_STATES,
  type StoredState,
} from '../db/schema.ts';
import { joinWords } from '../text.ts';

/** The states in which a key has a secret and can be changed, be revoked and expire. Only an Active key's secret works. */
export const SECRET_HOLDERS = ['Active', 'suspended'] as const satisfies StoredState[];

/** The {@link SECRET_HOLDERS} in a sentence. */
export const WITH_SECRET = joinWords(SECRET_HOLDERS, 'or');

/** All legal transitions between the states of a key, each with the event that records it. */
export const MOVES = {
  approve: { from: ['pending'], to: 'Active', event: 'approved' },
  reject: { from: ['pending'], to: 'rejected', event: 'rejected' },
  withdraw: { from: ['pending'], to: 'withdrawn', event: 'withdrawn' },
  suspend: { from: ['Active'], to: 'suspended', event: 'suspended' },
  resume: { from: ['suspended'], to: 'Active', event: 'resumed' },
  revoke: { from: SECRET_HOLDERS, to: 'revoked', event: 'revoked' },
} as const satisfies Record<string, { from: readonly StoredState[]; to: StoredState; event: KeyEventName }>;

export type Move = keyof typeof MOVES;

export const MOVE_NAMES = Object.keys(MOVES) as Move[];

/** The changes of a profile that void an open attempt to approve one of its keys. */
export const VOIDING_CHANGES = ['address changed', 'profile banned'] as const satisfies KeyEventName[];

/** All events that void an open attempt to approve a key. */
export const VOIDING_EVENTS = [...VOIDING_CHANGES, MOVES.reject.event, MOVES.withdraw.event] as const;

/** Whether a string is the name of a state of keys. */
export function isKeyState(text: string): text is KeyState {
  return (KEY_STATES as readonly string[]).includes(text);
}

/** Whether a key in this state has a secret. */
export function hasSecret(state: KeyState): boolean {
  return SECRET_HOLDERS.some((holder) => holder === state);
}

/** The move that ends a key with its profile; null if it has ended. */
export function endOf(state: StoredState): Move | null {
  return (['withdraw', 'revoke'] as const).find((move) => isFrom(move, state)) ?? null;
}

/** Whether a key in this state can make a move. */
export function isFrom(move: Move, state: KeyState): boolean {
  return MOVES[move].from.some((from) => from === state);
}

/** The states in which a key counts towards the {@link KEYS_PER_PROFILE} keys that its profile may have. */
export const SLOT_HOLDERS = STORED_STATES.filter((state) => endOf(state) !== null);

/** Whether a key in this state has ended: its profile can request it again. */
export function hasEnded(state: KeyState): boolean {
  return !SLOT_HOLDERS.some((holder) => holder === state);
}

/** How many keys of one profile may be in one of the {@link SLOT_HOLDERS} at the same time. */
export const KEYS_PER_PROFILE = 3;

/** Whether an expiry has passed: the key is refused from the millisecond `expiresAtMs` on. Null means never. */
export function isExpired(expiresAtMs: number | null, nowMs: number): boolean {
  return expiresAtMs !== null && nowMs >= expiresAtMs;
}

/** The state of a key at a time: `expired` once its expiry has passed, although the row keeps its state. */
export function stateAt(
  { state, expiresAt }: { state: StoredState; expiresAt: number | null },
  nowMs: number,
): KeyState {
  return hasSecret(state) && isExpired(expiresAt, nowMs) ? 'expired' : state;
}

/** {@link stateAt} as an SQL condition. */
export function isInState(state: KeyState, nowMs: number): SQL | undefined {
  if (state === 'expired') return and(inArray(apiKeys.state, SECRET_HOLDERS), lte(apiKeys.expiresAt, nowMs));
  const stored = eq(apiKeys.state, state);
  return hasSecret(state) ? and(stored, or(isNull(apiKeys.expiresAt), gt(apiKeys.expiresAt, nowMs))) : stored;
}

/**
 * The result to show for an approval attempt. One that is still `open` after its lease was left by a program that crashed: it
 * is unknown whether its mail was sent, so it is shown as `not confirmed`.
 */
export function attemptResultAt(result: AttemptResult, leaseEndsAtMs: number, nowMs: number): AttemptResult {
  return result === 'open' && nowMs >= leaseEndsAtMs ? 'not confirmed' : result;
}

// The approval protocol as pure decisions, each made and stored inside one immediate transaction. `attemptNumber` is the
// fence: raising it permanently invalidates the secrets of all earlier mails.

/** The parts of a key that the approval protocol depends on. */
export type Approvable = {
  state: StoredState;
  /** Raised by every approval, rejection, withdrawal and revocation, and by what voids an open attempt. */
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
