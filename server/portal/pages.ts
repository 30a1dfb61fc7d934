import type { Access } from '../../shared/sessions-file/access.ts';
import { createThrottleMemory, joinThrottle } from '../http/throttle.ts';
import { createBackground, stopBackground } from '../thread/background.ts';
import type { Pages } from '../thread/pages.ts';
import { isPagePath } from './requests/page-path.ts';
import { PAGE_ROUTES } from './routes.ts';

/** How many sets of addresses are remembered that have sent found secrets, or have asked for tokens: 32 addresses each. */
const TRY_SETS = 64;

/** Makes what pages need. `report` tells the log. */
export function createPages(access: Access, report: Pages['report']): Pages {
  return {
    access,
    report,
    background: createBackground(),
    isPage: (path) => isPagePath(PAGE_ROUTES, path),
    foundTexts: joinThrottle(createThrottleMemory(access.random, TRY_SETS), 1, access.clock),
    loginTries: joinThrottle(createThrottleMemory(access.random, TRY_SETS), 1, access.clock),
    underWay: new Set(),
    isStopping: false,
  };
}

/** Finishes the work that pages have begun: 15 seconds for what is under way, then 2 to store that it was given up. */
export function stopPages(pages: Pages): Promise<void> {
  pages.isStopping = true;
  return stopBackground(pages.background);
}
