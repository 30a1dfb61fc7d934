import type { Access } from '../../shared/sessions-file/access.ts';
import { createThrottleMemory, joinThrottle } from '../http/throttle.ts';
import { createBackground, stopBackground } from '../thread/background.ts';
import type { Pages } from '../thread/pages.ts';
import { isPagePath } from './requests/page-path.ts';
import { PAGE_ROUTES } from './routes.ts';

/** The number of sets, of 32 addresses each, in the throttles of found secrets and of logins. */
const TRY_SETS = 64;

/** Makes what the code of pages works with. `report` logs events. */
export function createPages(access: Access, report: Pages['report']): Pages {
  return {
    access,
    report,
    background: createBackground(),
    isPage: (path) => isPagePath(PAGE_ROUTES, path),
    foundTexts: joinThrottle(createThrottleMemory(access.random, TRY_SETS), 1, access.clock),
    loginTries: joinThrottle(createThrottleMemory(access.random, TRY_SETS), 1, access.clock),
    inProgress: new Set(),
    isStopping: false,
  };
}

/** Waits for the background work of pages: 15 seconds to finish it, then 2 to store that it was aborted. */
export function stopPages(pages: Pages): Promise<void> {
  pages.isStopping = true;
  return stopBackground(pages.background);
}
