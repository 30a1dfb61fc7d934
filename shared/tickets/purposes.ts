import { DAY_MS } from '../clock.ts';
import type { Purpose } from '../sessions-file/schema.ts';

// The purposes of one-time secrets: their lifetimes, numbers of tries and caps. Durations are in milliseconds. Nothing
// here reads or writes a file.

const MINUTE_MS = 60_000;

/** A limit on the number of tickets that one person makes within a time, used or not; further ones are refused. */
export type Cap = { max: number; withinMs: number };

/** The rules for a kind of one-time secret. */
export type Rules = {
  lifetimeMs: number;
  /** The number of tries; null if the secret is too long to be guessed. */
  tries: number | null;
  /** How long after it was made a used ticket is kept, if longer than its lifetime. */
  keptMs?: number;
  cap?: Cap;
  /** Whether a new ticket replaces the one with the same `foundBy`. */
  isReplaced?: boolean;
  /** Whether it leads to a sign-in, so that it ends together with all sign-ins of a person. */
  givesAccess?: boolean;
};

/** The maximum number of challenges for one purpose that one person may request per minute, used or not. */
export const MAX_CHALLENGES = 30;

const CHALLENGE = {
  lifetimeMs: 5 * MINUTE_MS,
  tries: null,
  cap: { max: MAX_CHALLENGES, withinMs: MINUTE_MS },
} as const satisfies Rules;

/** The kinds of one-time secrets. Each is found by the SHA-256 of the secret that its comment names. */
export const PURPOSES = {
  /**
   * A code that is mailed to an owner, found by the secret of the browser that requested it. `about` is the keyed hash
   * of the name and the e-mail address that were typed.
   */
  'sign-in code': { lifetimeMs: 10 * MINUTE_MS, tries: 5, isReplaced: true, givesAccess: true },
  /** The URL to which a backend sends a user who is signed in there, found by its secret. */
  'hand-over': { lifetimeMs: MINUTE_MS, tries: null, givesAccess: true },
  /** The URL at which an admin registers a passkey, found by its secret. */
  enrolment: { lifetimeMs: 15 * MINUTE_MS, tries: null },
  /** The challenge that a new passkey signs. `about` is the hash of that URL's secret; empty for a signed-in admin. */
  registration: CHALLENGE,
  /**
   * A challenge that an admin has used to sign in, kept for a day: longer than it is valid, so that it can't be used
   * again after the clock is set back.
   */
  'used challenge': { lifetimeMs: DAY_MS, tries: null },
} as const satisfies Record<Purpose, Rules>;

/** The rules of a purpose. */
export function rulesOf(purpose: Purpose): Rules {
  return PURPOSES[purpose];
}

/** The purposes whose rules meet a condition. */
export function purposesWith(isWanted: (rules: Rules) => boolean): Purpose[] {
  const all = Object.keys(PURPOSES) as Purpose[];
  return all.filter((purpose) => isWanted(rulesOf(purpose)));
}
