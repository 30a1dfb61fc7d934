import { existsSync } from 'node:fs';
import { sessionsPath } from '../../shared/sessions-file/sessions-path.ts';
import type { PortalHandle } from './portal-handle.ts';

const EVERY_MS = 10 * 60_000;

/**
 * Wakes the portal's thread every ten minutes while there is a sessions file, so that client addresses are deleted in time
 * even if nobody opens a page, or pages are off. Stopped by clearing the returned timer.
 */
export function startSweepTimer({ wake }: Pick<PortalHandle, 'wake'>, databasePath: string, everyMs = EVERY_MS): Timer {
  const look = () => {
    if (existsSync(sessionsPath(databasePath))) wake();
  };
  return setInterval(look, everyMs).unref();
}
