import { DAY_MS } from '../clock.ts';
import type { Purpose } from '../sessions-file/schema.ts';

// The purposes of one-time secrets: how long each works, how often it may be tried, and how many there may be.
// Durations are in milliseconds. Nothing here reads or writes a file.

const MINUTE_MS = 60_000;

/** A limit on the number of tickets; one more is refused. */
export type Cap = {
  /** Whether one person's tickets are counted, or everybody's. */
  of: 'person' | 'all';
  /** Which tickets made within `withinMs` are counted: all, unused ones, or those that became a sign-in. */
  counted: 'made' | 'open' | 'spent';
  most: number;
  withinMs: number;
  /** When to try again, if not when the first of them is no longer counted. */
  retryAfterSeconds?: number;
  /** `sentence` is the message to the person; null if the refusal's own sentence says it. */
} & (
  | { refusal: 'too_many_challenges'; sentence: null }
  | { refusal: 'too_many_requests' | 'too_many_pages'; sentence: string }
);

/** The rules for a kind of one-time secret. */
export type Rules = {
  lifetimeMs: number;
  /** How many wrong codes may be entered; null if the secret is too long to be guessed. */
  tries: number | null;
  /** How long a used one is remembered, from when it was made, if longer than it works. */
  keptMs?: number;
  caps?: readonly Cap[];
  /** How many of one person may be open: a new one replaces the oldest. */
  mostOpen?: number;
  /** Purposes with the same value are counted together. */
  together?: 'logins';
  /** Whether a new one replaces the one with the same `foundBy`. */
  isReplaced?: boolean;
  /** Whether it gives access, now or soon, so that it ends together with all sign-ins of a person. */
  letsIn?: boolean;
};

/**
 * The most logins of `profilectl` in progress, in total and for one person; and how many of one person's become a token
 * within a day, each of which costs a row for months and a mail.
 */
export const MOST_LOGINS = { all: 1_000, person: 5, day: 20 } as const;

const LOGIN = {
  together: 'logins',
  keptMs: DAY_MS,
  mostOpen: MOST_LOGINS.person,
  letsIn: true,
  caps: [
    {
      ...{ of: 'person', counted: 'spent', most: MOST_LOGINS.day, withinMs: DAY_MS },
      refusal: 'too_many_requests',
      sentence: `You have let profilectl in ${MOST_LOGINS.day} times within a day; try again later.`,
    },
    {
      ...{ of: 'all', counted: 'open', most: MOST_LOGINS.all, withinMs: 10 * MINUTE_MS },
      refusal: 'too_many_pages',
      sentence: 'Too many logins of profilectl are under way; try again in a minute.',
      retryAfterSeconds: 60,
    },
  ],
} as const satisfies Partial<Rules>;

/**
 * The most challenges for one purpose that one person may request in a minute, used or not. Other people's are not
 * counted.
 */
export const MOST_CHALLENGES = 30;

const CHALLENGE = {
  lifetimeMs: 5 * MINUTE_MS,
  tries: null,
  caps: [
    {
      ...{ of: 'person', counted: 'made', most: MOST_CHALLENGES, withinMs: MINUTE_MS },
      ...{ refusal: 'too_many_challenges', sentence: null },
    },
  ],
} as const satisfies Rules;

/** The kinds of one-time secrets; each is found by the SHA-256 of what its comment names. */
export const PURPOSES = {
  /**
   * A code that is mailed to an owner, found by the secret of the browser that requested it. `about` is the keyed hash
   * of what was typed.
   */
  'sign-in code': { lifetimeMs: 10 * MINUTE_MS, tries: 5, isReplaced: true, letsIn: true },
  /**
   * A code that a person types into `profilectl`, found by the challenge of that login. `about` is the machine's name
   * for itself.
   */
  'login code': { lifetimeMs: 10 * MINUTE_MS, tries: 5, ...LOGIN },
  /** The same for a code that a browser delivers, found by the code itself, which is long. */
  'login redirect': { lifetimeMs: 5 * MINUTE_MS, tries: null, ...LOGIN },
  /** The address to which a backend sends a user who is signed in there, found by its secret. */
  'hand-over': { lifetimeMs: MINUTE_MS, tries: null, letsIn: true },
  /** The address at which an admin registers a passkey, found by its secret. */
  enrolment: { lifetimeMs: 15 * MINUTE_MS, tries: null },
  /** The challenge that a new passkey signs. `about` is the hash of the address's secret. */
  registration: CHALLENGE,
  /**
   * The challenge that a passkey signs for decisions, which are `about`; kept so that a page can report their result.
   */
  decision: { ...CHALLENGE, keptMs: 60 * MINUTE_MS },
  /**
   * A challenge that an admin has used to sign in, kept for a day: longer than it works, so that setting the clock back
   * revives none.
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
