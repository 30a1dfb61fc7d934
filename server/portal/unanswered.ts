import type { Config } from '../../shared/config/config.ts';
import { refuseCall } from '../manage/refusals.ts';
import { createPortalApp, type PortalParts } from './app.ts';
import { refusePage } from './requests/refusals.ts';

// Refusals that serving threads make in the portal's place. Loaded with the first such request.

/**
 * Returns a function that refuses a request because of an error, exactly as the portal's thread would: it runs the same
 * application, in which opening the files throws that error.
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

/** Refuses a request that may not be forwarded: with JSON under `/manage`, else with a page. */
export function refuseArrival(config: Config, report: PortalParts['report'], path: string, error: unknown): Response {
  return /^\/manage(\/|$)/.test(path) ? refuseCall(report, error) : refusePage(config, report, error);
}
