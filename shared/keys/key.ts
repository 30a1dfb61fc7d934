import { and, eq, gt, inArray, isNull, lte, or, type SQL } from 'drizzle-orm';
import type { KeyEventName } from '../db/event-columns.ts';
import { type AttemptResult, KEY_STATES, type KeyState, type StoredState } from '../db/key-columns.ts';
import { apiKeys } from '../db/schema/keys.ts';

/** The states in which a key has a secret and can be changed, be revoked and expire. Only an Active key's secret works. */
export const SECRET_HOLDERS = ['Active', 'suspended'] as const satisfies StoredState[];

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

/** The changes of a profile that void an open attempt to approve one of its keys. */
export const VOIDING_CHANGES = ['address changed', 'profile banned'] as const satisfies KeyEventName[];

/** All events that void an open attempt to approve a key. */
export const VOIDING_EVENTS = [...VOIDING_CHANGES, MOVES.reject.event, MOVES.withdraw.event] as const;

/** Whether a key in this state can make the transition. */
export function canMove(state: KeyState, move: Move): boolean {
  return MOVES[move].from.some((from) => from === state);
}

/** Whether a string is the name of a state of keys. */
export function isKeyState(text: string): text is KeyState {
  return (KEY_STATES as readonly string[]).includes(text);
}

/** Whether a key in this state has a secret. */
export function hasSecret(state: KeyState): boolean {
  return SECRET_HOLDERS.some((holder) => holder === state);
}

/** The states in which a key counts towards the {@link KEYS_PER_PROFILE} keys that its profile may have. */
export const SLOT_HOLDERS = ['pending', ...SECRET_HOLDERS] as const satisfies StoredState[];

/** How many keys of one profile may be pending, Active or suspended at the same time. */
export const KEYS_PER_PROFILE = 3;

/** Whether an expiry has passed: the key is refused from the millisecond `expiresAtMs` on. Null means never. */
export function isExpired(expiresAtMs: number | null, nowMs: number): boolean {
  return expiresAtMs !== null && nowMs >= expiresAtMs;
}

/** The state of a key at a time: `expired` once its expiry has passed, where the database says `Active` or `suspended`. */
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
