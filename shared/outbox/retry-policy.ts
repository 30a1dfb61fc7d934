import { DAY_MS } from '../clock.ts';

// When notices are sent and retried, in milliseconds.

/** How long a sender leases a notice: twice as long as a delivery may take. */
export const LEASE_MS = 120_000;

/** The pause after the first failure. Each further pause is twice as long, up to the longest. */
export const FIRST_PAUSE_MS = 60_000;
export const LONGEST_PAUSE_MS = DAY_MS / 4;

/** The minimum time between two messages to the webhook; everything in between shares the next one. */
export const WEBHOOK_EVERY_MS = 10_000;

/** Older notices are dropped. */
export const MAX_AGE_MS = 3 * DAY_MS;

/** How long a notice waits for an earlier one about the same key or profile to the same recipient. */
export const MAX_HELD_MS = DAY_MS / 24;

/** How long notices that are not about a key are kept after they are finished: as long as `status` lists them. */
export const KEPT_MS = 30 * DAY_MS;
