import { onceUnlocked } from '../../shared/db/when-unlocked.ts';
import { sweepSignIns } from '../../shared/sign-in/sessions.ts';
import type { Portal, Report } from '../portal/services.ts';
import { type Repeating, repeat } from './repeating.ts';

/** The clock needs the first ten minutes to settle. */
const FIRST_AFTER_MS = 10 * 60_000;

const EVERY_MS = 60_000;

/**
 * Deletes expired sign-ins and one-time secrets every minute, even if nobody opens a page or the Developer Platform is off, so
 * that clients' IP addresses are stored no longer than promised. A failure is logged, and retried a minute later.
 */
export function startSweepTimer(
  portal: Pick<Portal, 'open'>,
  report: Report,
  { firstAfterMs, everyMs } = { firstAfterMs: FIRST_AFTER_MS, everyMs: EVERY_MS },
): Repeating {
  return repeat(async () => {
    try {
      const { access } = portal.open();
      await onceUnlocked(access.db.$client, () => sweepSignIns(access));
    } catch (cause) {
      report('warn', 'Expired sessions could not be deleted.', cause);
    }
    return everyMs;
  }, firstAfterMs);
}
