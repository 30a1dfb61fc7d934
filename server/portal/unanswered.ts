import type { Config } from '../../shared/config/config.ts';
import { refuseCall } from '../manage/refusals.ts';
import { createPortalApp, type PortalParts } from './app.ts';
import { refuseVisit } from './requests/refusals.ts';

// What threads that serve requests say in the portal's place. They load it at the first such request.

/**
 * Makes what answers a request that the portal's thread has not answered, because of an error, as that thread would refuse it:
 * the same application, in which that error is why no file can be opened.
 */
export function prepareUnanswered(
  config: Config,
  report: PortalParts['report'],
): (request: Request, error: unknown) => Promise<Response> {
  const errors = new WeakMap<Request, unknown>();
  const open = (request: Request) => {
    throw errors.get(request);
  };
  const app = createPortalApp({ config, open, report });
  return async (request, error) => {
    errors.set(request, error);
    return app.fetch(request);
  };
}

/** Answers a request to this path that may not be passed on, because of this error: under `/manage` as JSON, else as a page. */
export function refuseArrival(config: Config, report: PortalParts['report'], path: string, error: unknown): Response {
  return /^\/manage(\/|$)/.test(path) ? refuseCall(report, error) : refuseVisit(config, report, error);
}
