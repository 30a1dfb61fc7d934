import type { Access } from '../../shared/sessions-file/access.ts';
import { createThrottleMemory, joinThrottle } from '../http/throttle.ts';
import { createBackground, stopBackground } from '../thread/background.ts';
import type { PortalServices } from '../thread/portal-services.ts';
import { isPagePath } from './requests/page-path.ts';
import { PAGE_ROUTES } from './routes.ts';

/** The number of sets, of 32 IP addresses each, in each throttle. */
const TRY_SETS = 64;

/** Creates the services of the portal's handlers; `report` logs events. */
export function createPortalServices(access: Access, report: PortalServices['report']): PortalServices {
  return {
    access,
    report,
    background: createBackground(),
    isPage: (path) => isPagePath(PAGE_ROUTES, path),
    leakReportThrottle: joinThrottle(createThrottleMemory(access.random, TRY_SETS), 1, access.clock),
    isStopping: false,
  };
}

/** Waits for the background work; see {@link stopBackground}. */
export function stopPortalServices(services: PortalServices): Promise<void> {
  services.isStopping = true;
  return stopBackground(services.background);
}
