import type { Config } from '../../shared/config/config.ts';
import { AppError } from '../../shared/errors.ts';
import type { ThreadParts } from '../thread/portal-services.ts';
import { createPortalApp } from './app.ts';
import { refusePage } from './requests/refusals.ts';

// Refusals that serving threads make in place of the portal. Loaded on the first such request.

/**
 * Returns a function that refuses a request because of an error, exactly as the portal's thread would: it runs the same
 * application, in which opening the files throws that error.
 */
export function prepareUnanswered(
  config: Config,
  report: ThreadParts['report'],
): (request: Request, error: unknown) => Promise<Response> {
  const errors = new WeakMap<Request, unknown>();
  const open = (request: Request) => {
    throw errors.get(request);
  };
  const app = createPortalApp({ config, open, report });
  // The same for every page, and made once: lookups wait while a flood of requests is refused.
  let crowded: [body: ArrayBuffer, init: ResponseInit] | null = null;
  return async (request, error) => {
    if (!(error instanceof AppError && error.code === 'too_many_pages') || !asksForPage(request)) {
      errors.set(request, error);
      return app.fetch(request);
    }
    crowded ??= await copyOf(refusePage(config, report, error));
    return new Response(...crowded);
  };
}

async function copyOf(response: Response): Promise<[body: ArrayBuffer, init: ResponseInit]> {
  return [await response.arrayBuffer(), { status: response.status, headers: response.headers }];
}

/** Whether a request expects HTML, and has no form: the refusal of a form returns it, and that of a sign-out ends the session. */
function asksForPage({ method, url }: Request): boolean {
  return (method === 'GET' || method === 'HEAD') && /^\/developers(\/|$)/.test(new URL(url).pathname);
}
