import { DAY_MS } from '../clock.ts';

// How fast notices are sent, in milliseconds.

/** How long a claimed notice is left alone: twice what a delivery may take. */
export const LEASE_MS = 120_000;

/** The pause after the first failure; each further one is twice as long, up to the longest. */
export const FIRST_PAUSE_MS = 60_000;
export const LONGEST_PAUSE_MS = DAY_MS / 4;

/** The webhook gets at most one message in this time; what happens meanwhile is told with the next one. */
export const WEBHOOK_EVERY_MS = 10_000;

/** A notice that is older is given up. */
export const MAX_AGE_MS = 3 * DAY_MS;

/** How long a notice waits for an earlier one about the same key or profile to the same recipient. */
export const HELD_UP_MS = DAY_MS / 24;

/** How long those that are not about a key are kept once they are over: as long as `status` lists them. */
export const KEPT_MS = 30 * DAY_MS;
