// The values that the columns about keys may hold. The rules about these values are in shared/keys.

/** The states of an API key, spelled as in JSON, tables and the database (specification 3). */
export const KEY_STATES = ['pending', 'Active', 'rejected', 'withdrawn', 'revoked', 'expired'] as const;

export type KeyState = (typeof KEY_STATES)[number];

/** What a key may do, in the order in which they are listed everywhere (specification 5.4). */
export const PERMISSIONS = ['api.lookup', 'api.leaderboard'] as const;

/** `api.lookup` grants every lookup and links endpoint, `api.leaderboard` the leaderboard only. */
export type Permission = (typeof PERMISSIONS)[number];

/** The result of an approval attempt. An `open` attempt whose lease is over counts as `not confirmed`. */
export const ATTEMPT_RESULTS = ['open', 'accepted', 'refused', 'not confirmed', 'voided'] as const;

export type AttemptResult = (typeof ATTEMPT_RESULTS)[number];

/**
 * What became of a reminder. `sending` is written before the mail goes out: what a crash leaves of it is never repeated,
 * as little as `not confirmed`. `to be repeated` and `refused` were certainly not accepted.
 */
export const REMINDER_RESULTS = ['sending', 'accepted', 'refused', 'not confirmed', 'to be repeated'] as const;

export type ReminderResult = (typeof REMINDER_RESULTS)[number];

/** The events that the table `key_events` records. */
export const KEY_EVENTS = [
  'requested',
  'approval started',
  'approval refused',
  'approval not confirmed',
  'approved',
  'rejected',
  'withdrawn',
  'revoked',
  'expired',
  'edited',
  'changed',
  'erased',
] as const;

export type KeyEventName = (typeof KEY_EVENTS)[number];
