// The values that the columns about keys may hold. Their rules are in `shared/keys`.

/** The states that are stored. */
export type StoredState = 'pending' | 'Active' | 'suspended' | 'rejected' | 'withdrawn' | 'revoked';

/** The states of an API key, spelled so everywhere. `expired` is computed from the clock (`stateAt`), and never stored. */
export const KEY_STATES = ['pending', 'Active', 'suspended', 'rejected', 'withdrawn', 'revoked', 'expired'] as const;

export type KeyState = (typeof KEY_STATES)[number];

/** The permissions of keys, in display order. */
export const PERMISSIONS = ['api.lookup', 'api.leaderboard'] as const;

/** `api.lookup` grants every lookup and links endpoint, `api.leaderboard` the leaderboard only. */
export type Permission = (typeof PERMISSIONS)[number];

/** The result of an approval attempt. An `open` attempt whose lease has expired counts as `not confirmed`. */
export const ATTEMPT_RESULTS = ['open', 'accepted', 'refused', 'not confirmed', 'voided'] as const;

export type AttemptResult = (typeof ATTEMPT_RESULTS)[number];
