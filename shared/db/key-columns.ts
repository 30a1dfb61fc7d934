// The values that the columns about keys may hold. Their rules are in `shared/keys`.

/** The states of an API key, spelled as in JSON, tables and the database. */
export const KEY_STATES = ['pending', 'Active', 'suspended', 'rejected', 'withdrawn', 'revoked', 'expired'] as const;

export type KeyState = (typeof KEY_STATES)[number];

/** The permissions of keys, in display order. */
export const PERMISSIONS = ['api.lookup', 'api.leaderboard'] as const;

/** `api.lookup` grants every lookup and links endpoint, `api.leaderboard` the leaderboard only. */
export type Permission = (typeof PERMISSIONS)[number];

/** The result of an approval attempt. An `open` attempt whose lease has expired counts as `not confirmed`. */
export const ATTEMPT_RESULTS = ['open', 'accepted', 'refused', 'not confirmed', 'voided'] as const;

export type AttemptResult = (typeof ATTEMPT_RESULTS)[number];

/**
 * The kinds of mails without a secret, with the recipient of each. A new kind is one line here and one in the table of
 * `shared/upkeep/delivery/kinds.ts`, which has its text. All but the last four are about keys.
 */
export const NOTICE_KINDS = {
  /** A key was requested. Requests within an hour after such a mail are reported together at the end of that hour. */
  request: 'admins',
  rejection: 'owner',
  suspension: 'owner',
  resumption: 'owner',
  revocation: 'owner',
  change: 'owner',
  reminder: 'owner',
  /** A key was requested for the owner, on a page or remotely. */
  submission: 'owner',
  /** A key was renamed for the owner, on a page or remotely. */
  renaming: 'owner',
  /** The secret of an Active or suspended key was reported by somebody other than an admin, and the key was revoked. */
  exposure: 'admins',
  /** A new browser or `profilectl` signed in for the profile. */
  'new-sign-in': 'owner',
  address: 'former address',
  /** The profile, which has Active keys, was banned or unbanned. */
  ban: 'owner',
  /** A passkey was registered under an admin's name. */
  enrolment: 'admins',
} as const satisfies Record<string, 'admins' | 'owner' | 'former address'>;

/** A kind of mail. */
export type NoticeKind = keyof typeof NOTICE_KINDS;

/**
 * The result of a notice. `waiting`: still to be sent, perhaps again. `accepted` by the mail server. `refused` by it
 * permanently, because of the address. `dropped`: abandoned after three days, or by `db restore`. `moot`: no longer true
 * when it was due, so it was not sent.
 */
export const NOTICE_RESULTS = ['waiting', 'accepted', 'refused', 'dropped', 'moot'] as const;

export type NoticeResult = (typeof NOTICE_RESULTS)[number];

/** The events that the table `key_events` records. */
export const KEY_EVENTS = [
  'requested',
  'approval started',
  'approval refused',
  'approval not confirmed',
  'approved',
  'rejected',
  'withdrawn',
  'suspended',
  'resumed',
  'revoked',
  'expired',
  'edited',
  'changed',
  'address changed',
  'profile banned',
  'profile unbanned',
  'erased',
  'mail not delivered',
] as const;

export type KeyEventName = (typeof KEY_EVENTS)[number];
