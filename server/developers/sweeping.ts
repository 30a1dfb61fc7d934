import { sweepSessions } from '../../shared/access/sweep.ts';
import { runInBackground } from './background.ts';
import type { Pages } from './visit.ts';

const HOUR_MS = 3_600_000;

/**
 * Deletes from the sessions file what is of no use any more, when the present answer is sent and then every hour, so that
 * client addresses are kept for no longer than is promised. What goes wrong is logged, and tried again an hour later. The
 * timer that is returned ends it.
 */
export function startSweeping({ access, background, report }: Pages, everyMs = HOUR_MS): Timer {
  const onFault = (cause: unknown) => report('warn', 'Sessions that are over could not be deleted.', cause);
  const sweep = () =>
    runInBackground(background, () => sweepSessions(access.db, access.clock, access.sessions), onFault);
  sweep();
  return setInterval(sweep, everyMs);
}
