import { type AttemptResult, KEY_STATES, type KeyState } from '../db/key-columns.ts';

/** All legal transitions between the states of a key. Each is possible from one state only; everything else is refused. */
export const MOVES = {
  approve: { from: 'pending', to: 'Active' },
  reject: { from: 'pending', to: 'rejected' },
  withdraw: { from: 'pending', to: 'withdrawn' },
  revoke: { from: 'Active', to: 'revoked' },
  expire: { from: 'Active', to: 'expired' },
} as const satisfies Record<string, { from: KeyState; to: KeyState }>;

export type Move = keyof typeof MOVES;

/** Whether a key in this state can make the transition. */
export function canMove(state: KeyState, move: Move): boolean {
  return MOVES[move].from === state;
}

/** Whether a text is the name of a state of keys. */
export function isKeyState(text: string): text is KeyState {
  return (KEY_STATES as readonly string[]).includes(text);
}

/** The states in which a key counts towards the {@link KEYS_PER_PROFILE} keys that its profile may have. */
export const PLACE_HOLDERS = ['pending', 'Active'] as const satisfies KeyState[];

/** How many keys of one profile may be pending or Active at the same time (specification 8). */
export const KEYS_PER_PROFILE = 3;

/** Whether an Active key has expired: the key is refused from the millisecond `expiresAtMs` on; null means never. */
export function isExpired(expiresAtMs: number | null, nowMs: number): boolean {
  return expiresAtMs !== null && nowMs >= expiresAtMs;
}

/** The state of a key at a time: an Active key past its expiry is `expired`, even if the database still says `Active`. */
export function stateAt({ state, expiresAt }: { state: KeyState; expiresAt: number | null }, nowMs: number): KeyState {
  return state === 'Active' && isExpired(expiresAt, nowMs) ? 'expired' : state;
}

/**
 * The result to show for an attempt to approve a key. An attempt that is still `open` after its lease has ended was left by
 * a program that crashed, so the result of its mail is unknown: it is shown as `not confirmed`.
 */
export function attemptResultAt(result: AttemptResult, leaseEndsAtMs: number, nowMs: number): AttemptResult {
  return result === 'open' && nowMs >= leaseEndsAtMs ? 'not confirmed' : result;
}
