import { DAY_MS } from '../clock.ts';
import type { SignInKind } from '../sessions-file/schema.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

/**
 * How long a sign-in lasts unused (`idleMs`), and at most (`maxMs`). An admin's `profilectl` login lasts no longer than
 * a session, however much it is used.
 */
export const PERIODS = {
  browser: {
    owner: { idleMs: 24 * HOUR_MS, maxMs: 7 * DAY_MS },
    admin: { idleMs: 30 * MINUTE_MS, maxMs: 12 * HOUR_MS },
  },
  profilectl: {
    owner: { idleMs: 30 * DAY_MS, maxMs: 90 * DAY_MS },
    admin: { idleMs: 12 * HOUR_MS, maxMs: 12 * HOUR_MS },
  },
} as const satisfies Record<SignInKind, Record<'owner' | 'admin', { idleMs: number; maxMs: number }>>;

/** How long a sign-in is listed after its end. */
export const SHOWN_AFTER_END_MS = 30 * DAY_MS;
