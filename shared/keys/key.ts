import { type AttemptResult, KEY_STATES, type KeyState } from '../db/key-columns.ts';

/** What can happen to a key after it was requested, and where it leads; whatever is absent is refused. */
export const MOVES = {
  approve: { from: 'pending', to: 'Active' },
  reject: { from: 'pending', to: 'rejected' },
  withdraw: { from: 'pending', to: 'withdrawn' },
  revoke: { from: 'Active', to: 'revoked' },
  expire: { from: 'Active', to: 'expired' },
} as const satisfies Record<string, { from: KeyState; to: KeyState }>;

export type Move = keyof typeof MOVES;

/** Whether the move is legal from this state. */
export function canMove(state: KeyState, move: Move): boolean {
  return MOVES[move].from === state;
}

/** Whether a text names a state. */
export function isKeyState(text: string): text is KeyState {
  return (KEY_STATES as readonly string[]).includes(text);
}

/** The states in which a key takes one of the profile's places. */
export const PLACE_HOLDERS = ['pending', 'Active'] as const satisfies KeyState[];

/** At most so many keys of a profile are pending or Active (specification 8). */
export const KEYS_PER_PROFILE = 3;

/** Whether an Active key's time is over: refused from that millisecond on. */
export function isExpired(expiresAtMs: number | null, nowMs: number): boolean {
  return expiresAtMs !== null && nowMs >= expiresAtMs;
}

/** The state of a key at a time: an Active one whose time is over is expired, even if nobody has stored that yet. */
export function stateAt({ state, expiresAt }: { state: KeyState; expiresAt: number | null }, nowMs: number): KeyState {
  return state === 'Active' && isExpired(expiresAt, nowMs) ? 'expired' : state;
}

/** What a reader is told of an attempt: an open one whose lease is over crashed, so nobody confirmed it. */
export function attemptResultAt(result: AttemptResult, leaseEndsAtMs: number, nowMs: number): AttemptResult {
  return result === 'open' && nowMs >= leaseEndsAtMs ? 'not confirmed' : result;
}
