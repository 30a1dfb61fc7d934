import { existsSync } from 'node:fs';
import { whenUnlocked } from '../../shared/db/when-unlocked.ts';
import { AppError } from '../../shared/errors.ts';
import { sessionsPath } from '../../shared/sessions-file/sessions-path.ts';
import { storeSignInNotices } from '../../shared/sign-in/sign-in-notices.ts';
import { sweepSessions } from '../../shared/sign-in/sweep.ts';
import { runInBackground } from '../background.ts';
import type { Portal, PortalServices, Report } from '../portal/services.ts';
import { type Repeating, repeat } from './repeating.ts';

/** The clock needs the first ten minutes to settle. */
const EVERY_MS = 10 * 60_000;

/**
 * Deletes expired rows of the sessions file every ten minutes, even if nobody opens a page, or the Developer Platform is off, so
 * that clients' IP addresses are stored no longer than promised. A failure is logged, and retried ten minutes later.
 */
export function startSweepTimer(
  portal: Pick<Portal, 'open'>,
  report: Report,
  databasePath: string,
  everyMs: number = EVERY_MS,
): Repeating {
  return repeat(async () => {
    try {
      if (existsSync(sessionsPath(databasePath))) sweep(portal.open());
    } catch (cause) {
      report('warn', UNSWEPT, cause);
    }
    return everyMs;
  }, everyMs);
}

const UNSWEPT = 'Expired sessions could not be deleted.';

/** Sweeps once, in the background. */
export function sweep({ access, background, report }: PortalServices): void {
  const onFault = (cause: unknown) => report('warn', UNSWEPT, cause);
  const onUnsent = (cause: unknown) => report('error', 'Owners could not be notified of sign-ins.', cause);
  const sweepNow = async () => {
    await whenUnlocked(access.sessions.sqlite);
    sweepSessions(access.db, access.clock, access.sessions);
  };
  runInBackground(background, sweepNow, onFault);
  // For sign-ins right before the server last stopped, or while the database was not writable.
  runInBackground(background, (signal) => notifyOfSignIns({ access }, signal), onUnsent);
}

/**
 * Stores the mails that notify owners of their sign-ins; runs in the background. Waits while the database is locked, until the
 * signal is aborted. Throws `refused` if a file can't be written; the next sweep then retries.
 */
export async function notifyOfSignIns({ access }: Pick<PortalServices, 'access'>, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    try {
      await whenUnlocked(access.db.$client);
      return storeSignInNotices(access);
    } catch (error) {
      if (!(error instanceof AppError) || error.code !== 'busy') throw error;
    }
  }
}
