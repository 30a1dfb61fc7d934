import { DAY_MS } from '../clock.ts';
import type { Purpose } from '../sessions-file/schema.ts';

// What each one-time secret is for, how long it works, how often it may be tried, and how many there may be. Durations are in
// milliseconds. Nothing here reads or writes a file.

const MINUTE_MS = 60_000;

/** How many tickets there may be at most; one more is refused. */
export type Cap = {
  /** Whose are counted: those of one person, or everybody's. */
  of: 'person' | 'all';
  /** Which are counted of those that were made within `withinMs`: all, those that are not used, or those that became a sign-in. */
  counted: 'made' | 'open' | 'spent';
  most: number;
  withinMs: number;
  /** When to try again, where that is not when the first of them is counted no more. */
  retryAfterSeconds?: number;
  /** `sentence` is what the person is told; null where the refusal's own sentence says it. */
} & (
  | { refusal: 'too_many_challenges'; sentence: null }
  | { refusal: 'too_many_requests' | 'too_many_pages'; sentence: string }
);

/** What there is to say of a kind of one-time secret. */
export type Rules = {
  lifetimeMs: number;
  /** How often a wrong code may be entered; null where what it is found by is too long to be guessed. */
  tries: number | null;
  /** For how long one that was used is remembered, from when it was made, where that is longer than it works. */
  keptMs?: number;
  caps?: readonly Cap[];
  /** So many of one person may be open: a new one takes the place of the oldest. */
  mostOpen?: number;
  /** Purposes that say the same here are counted together. */
  together?: 'logins';
  /** Whether a new one takes the place of that which is found by the same. */
  isReplaced?: boolean;
  /** Whether it lets somebody in, or soon could, so that it ends together with all sign-ins of a person. */
  letsIn?: boolean;
};

/**
 * The most logins of `profilectl` that may be under way, of all and of one person; and how many of one person become a token
 * within a day, each of which is a row for months and a mail.
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

/** The most challenges for one purpose that one person may ask for in a minute, used or not. Nobody else's are counted. */
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

/** The kinds of one-time secrets; each is found by the SHA-256 of what is named here. */
export const PURPOSES = {
  /** A code that is mailed to an owner: the secret of the browser that asked. `about` is the keyed hash of what was typed. */
  'sign-in code': { lifetimeMs: 10 * MINUTE_MS, tries: 5, isReplaced: true, letsIn: true },
  /** A code that a person types into `profilectl`: the challenge of that login. `about` says what the machine calls itself. */
  'login code': { lifetimeMs: 10 * MINUTE_MS, tries: 5, ...LOGIN },
  /** The same, where a browser brings the code: the code, which is long. */
  'login redirect': { lifetimeMs: 5 * MINUTE_MS, tries: null, ...LOGIN },
  /** The address to which a backend sends a user who is signed in there: its secret. */
  'hand-over': { lifetimeMs: MINUTE_MS, tries: null, letsIn: true },
  /** The address at which an admin registers a passkey: its secret. */
  enrolment: { lifetimeMs: 15 * MINUTE_MS, tries: null },
  /** The challenge that a new passkey signs. `about` is the hash of the address's secret. */
  registration: CHALLENGE,
  /** The challenge that a passkey signs for decisions, which are `about`; kept so that a page can say what became of them. */
  decision: { ...CHALLENGE, keptMs: 60 * MINUTE_MS },
  /** A challenge with which an admin has signed in, for a day: longer than it lives, so that a clock set back revives none. */
  'used challenge': { lifetimeMs: DAY_MS, tries: null },
} as const satisfies Record<Purpose, Rules>;

/** Everything there is to say of a purpose. */
export function rulesOf(purpose: Purpose): Rules {
  return PURPOSES[purpose];
}

/** The purposes whose rules meet a condition. */
export function purposesWith(isWanted: (rules: Rules) => boolean): Purpose[] {
  const all = Object.keys(PURPOSES) as Purpose[];
  return all.filter((purpose) => isWanted(rulesOf(purpose)));
}
