import { SETTLE_MS } from '../../../shared/clock.ts';
import { whenUnlocked } from '../../../shared/db/when-unlocked.ts';
import type { Access } from '../../../shared/sessions-file/access.ts';
import { renewSessions } from '../../../shared/sessions-file/open-access.ts';
import { sweepSessions } from '../../../shared/sign-in/sweep.ts';
import { runInBackground } from '../../thread/background.ts';
import type { Pages } from '../../thread/pages.ts';
import { notifyOfSignIns } from '../../thread/sign-in-notices.ts';

/**
 * Deletes from the sessions file what is of no use any more, when the present answer is sent and then every ten minutes,
 * the first of which the clock needs to settle. So client addresses are kept for no longer than is promised. What goes
 * wrong is logged, and tried again. The timer that is returned ends it.
 */
export function startSweeping({ access, background, report }: Pages, everyMs = SETTLE_MS): Timer {
  const onFault = (cause: unknown) => report('warn', 'Expired sessions could not be deleted.', cause);
  const onUntold = (cause: unknown) => report('error', 'Owners could not be told of sign-ins.', cause);
  const sweep = () => {
    runInBackground(background, () => sweepNow(access), onFault);
    // Of sign-ins right before the last stop, or while the database could not be written.
    runInBackground(background, (signal) => notifyOfSignIns({ access }, signal), onUntold);
  };
  sweep();
  return setInterval(sweep, everyMs);
}

async function sweepNow(access: Access): Promise<void> {
  // Without a visitor nobody else notices that the file was moved away since.
  renewSessions(access);
  await whenUnlocked(access.sessions.sqlite);
  sweepSessions(access.db, access.clock, access.sessions);
}
