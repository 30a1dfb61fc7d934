import { existsSync } from 'node:fs';
import { sessionsPath } from '../../shared/sessions-file/sessions-path.ts';
import type { PortalHandle } from './portal-handle.ts';
import { type Repeating, repeat } from './repeating.ts';

const EVERY_MS = 10 * 60_000;

/**
 * Wakes the portal's thread every ten minutes if there is a sessions file, so that the IP addresses of clients are deleted in
 * time even if nobody opens a page, or the Developer Platform is off.
 */
export function startSweepTimer(
  { wake }: Pick<PortalHandle, 'wake'>,
  databasePath: string,
  everyMs = EVERY_MS,
): Repeating {
  const check = async () => {
    if (existsSync(sessionsPath(databasePath))) wake();
    return everyMs;
  };
  return repeat(check, everyMs);
}
