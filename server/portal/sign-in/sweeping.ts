import { SETTLE_MS } from '../../../shared/clock.ts';
import { whenUnlocked } from '../../../shared/db/when-unlocked.ts';
import type { Access } from '../../../shared/sessions-file/access.ts';
import { renewSessions } from '../../../shared/sessions-file/open-access.ts';
import { sweepSessions } from '../../../shared/sign-in/sweep.ts';
import { runInBackground } from '../../thread/background.ts';
import type { PortalServices } from '../../thread/portal-services.ts';
import { notifyOfSignIns } from '../../thread/sign-in-notices.ts';

/**
 * Deletes expired rows of the sessions file, after the current response and then every ten minutes (the clock needs the first
 * ten to settle), so that clients' IP addresses are stored no longer than promised. A failure is logged, and retried ten
 * minutes later. Clear the returned timer to stop it.
 */
export function startSweeping({ access, background, report }: PortalServices, everyMs = SETTLE_MS): Timer {
  const onFault = (cause: unknown) => report('warn', 'Expired sessions could not be deleted.', cause);
  const onUnsent = (cause: unknown) => report('error', 'Owners could not be notified of sign-ins.', cause);
  const sweep = () => {
    runInBackground(background, () => sweepNow(access), onFault);
    // For sign-ins right before the server last stopped, or while the database was not writable.
    runInBackground(background, (signal) => notifyOfSignIns({ access }, signal), onUnsent);
  };
  sweep();
  return setInterval(sweep, everyMs);
}

async function sweepNow(access: Access): Promise<void> {
  // Without visitors, this is the only check whether the file was moved away.
  renewSessions(access);
  await whenUnlocked(access.sessions.sqlite);
  sweepSessions(access.db, access.clock, access.sessions);
}
