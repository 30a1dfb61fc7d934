import { whenUnlocked } from '../../shared/db/when-unlocked.ts';
import { AppError } from '../../shared/errors.ts';
import { storeSignInNotices } from '../../shared/sign-in/sign-in-notices.ts';
import type { PortalServices } from '../portal/services.ts';

/** The time between two attempts while an import or a VACUUM locks the database. */
const PAUSE_MS = 250;

/**
 * Stores the mails that notify owners of their sign-ins; runs in the background. Retries while the database is locked, until
 * the signal is aborted. Throws `refused` if a file can't be written; the next sweep then retries.
 */
export async function notifyOfSignIns({ access }: Pick<PortalServices, 'access'>, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    try {
      await whenUnlocked(access.db.$client);
      storeSignInNotices(access);
      return;
    } catch (error) {
      if (!(error instanceof AppError) || error.code !== 'busy') throw error;
    }
    await Bun.sleep(PAUSE_MS);
  }
}
