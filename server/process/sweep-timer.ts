import { existsSync } from 'node:fs';
import { sessionsPath } from '../../shared/sessions-file/sessions-file.ts';
import type { Portal } from './portal.ts';

const EVERY_MS = 10 * 60_000;

/**
 * Wakes the thread for pages every ten minutes while there is a sessions file, so that client addresses are deleted in time
 * also where nobody asks for a page, or pages are off. The timer that is returned ends it.
 */
export function startWaking({ wake }: Pick<Portal, 'wake'>, databasePath: string, everyMs = EVERY_MS): Timer {
  const look = () => {
    if (existsSync(sessionsPath(databasePath))) wake();
  };
  return setInterval(look, everyMs).unref();
}
