import { whenUnlocked } from '../../shared/db/when-unlocked.ts';
import { AppError } from '../../shared/errors.ts';
import { storeSignInNotices } from '../../shared/sign-in/sign-in-notices.ts';
import type { Pages } from './pages.ts';

/** How long until it is tried again while an import or a VACUUM holds the lock of the database. */
const PAUSE_MS = 250;

/**
 * Has owners told of their sign-ins: for the background, after the answer. While the database is locked it tries again and
 * again until the signal is aborted. Throws `refused` where a file can't be written; sweeping tries again then.
 */
export async function tellOfSignIns({ access }: Pick<Pages, 'access'>, signal: AbortSignal): Promise<void> {
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
