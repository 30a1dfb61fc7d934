import { DAY_MS } from '../clock.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

/** How long a sign-in lasts unused (`idleMs`), and at most (`maxMs`). */
export const PERIODS = {
  owner: { idleMs: 24 * HOUR_MS, maxMs: 7 * DAY_MS },
  admin: { idleMs: 30 * MINUTE_MS, maxMs: 12 * HOUR_MS },
} as const;

/** How long a sign-in is listed after its end. */
export const SHOWN_AFTER_END_MS = 30 * DAY_MS;
