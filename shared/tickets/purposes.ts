import { DAY_MS } from '../clock.ts';
import type { Purpose } from '../sessions-file/schema.ts';

// The purposes of one-time secrets: their lifetimes, numbers of tries and caps. Durations are in milliseconds. Nothing
// here reads or writes a file.

const MINUTE_MS = 60_000;

/** A limit on the number of tickets; further ones are refused. */
export type Cap = {
  /** Whose tickets are counted: one person's, or everybody's. */
  of: 'person' | 'all';
  /** Which tickets made within `withinMs` are counted: all, unused ones, or those exchanged for a sign-in. */
  counted: 'made' | 'open' | 'spent';
  max: number;
  withinMs: number;
  /** When to try again, if not when the oldest counted ticket is no longer counted. */
  retryAfterSeconds?: number;
  /** `sentence` is the message to the person; null for the refusal's own sentence. */
} & (
  | { refusal: 'too_many_challenges'; sentence: null }
  | { refusal: 'too_many_requests' | 'too_many_pages'; sentence: string }
);

/** The rules for a kind of one-time secret. */
export type Rules = {
  lifetimeMs: number;
  /** The number of tries; null if the secret is too long to be guessed. */
  tries: number | null;
  /** How long after it was made a used ticket is kept, if longer than its lifetime. */
  keptMs?: number;
  caps?: readonly Cap[];
  /** The maximum number of open tickets per person; a new one replaces the oldest. */
  maxOpen?: number;
  /** Purposes with the same value share their caps. */
  together?: 'logins';
  /** Whether a new ticket replaces the one with the same `foundBy`. */
  isReplaced?: boolean;
  /** Whether it leads to a sign-in, so that it ends together with all sign-ins of a person. */
  givesAccess?: boolean;
};

/**
 * The maximum number of `profilectl` logins in progress, in total and per person; and per person and day, of logins
 * that were completed, since each costs a mail, and a row for months.
 */
export const MAX_LOGINS = { all: 1_000, person: 5, day: 20 } as const;

const LOGIN = {
  together: 'logins',
  keptMs: DAY_MS,
  maxOpen: MAX_LOGINS.person,
  givesAccess: true,
  caps: [
    {
      ...{ of: 'person', counted: 'spent', max: MAX_LOGINS.day, withinMs: DAY_MS },
      refusal: 'too_many_requests',
      sentence: `You have logged profilectl in ${MAX_LOGINS.day} times within a day; try again later.`,
    },
    {
      ...{ of: 'all', counted: 'open', max: MAX_LOGINS.all, withinMs: 10 * MINUTE_MS },
      refusal: 'too_many_pages',
      sentence: 'Too many logins of profilectl are in progress; try again in a minute.',
      retryAfterSeconds: 60,
    },
  ],
} as const satisfies Partial<Rules>;

/** The maximum number of challenges for one purpose that one person may request per minute, used or not. */
export const MAX_CHALLENGES = 30;

const CHALLENGE = {
  lifetimeMs: 5 * MINUTE_MS,
  tries: null,
  caps: [
    {
      ...{ of: 'person', counted: 'made', max: MAX_CHALLENGES, withinMs: MINUTE_MS },
      ...{ refusal: 'too_many_challenges', sentence: null },
    },
  ],
} as const satisfies Rules;

/** The kinds of one-time secrets. Each is found by the SHA-256 of the secret that its comment names. */
export const PURPOSES = {
  /**
   * A code that is mailed to an owner, found by the secret of the browser that requested it. `about` is the keyed hash
   * of the name and the e-mail address that were typed.
   */
  'sign-in code': { lifetimeMs: 10 * MINUTE_MS, tries: 5, isReplaced: true, givesAccess: true },
  /**
   * A code that a person types into `profilectl`, found by the challenge of that login. `about` is the machine's own
   * name.
   */
  'login code': { lifetimeMs: 10 * MINUTE_MS, tries: 5, ...LOGIN },
  /** A code that a browser delivers to `profilectl`, found by the code itself, which is long. */
  'login redirect': { lifetimeMs: 5 * MINUTE_MS, tries: null, ...LOGIN },
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
