import { Elysia } from 'elysia';
import type { Config } from '../../shared/config/config.ts';
import type { RequestState } from '../http/request-state.ts';
import { answerOutcome } from './requests/answers.ts';
import { refuseCrossSite } from './requests/cross-site.ts';
import { refusePage } from './requests/refusals.ts';
import { authorise, identifyVisitor, openPage, readSent, waitForLocks } from './requests/request-checks.ts';
import type { Arrived, PageContext } from './requests/request-context.ts';
import { PAGE_ROUTES } from './routes.ts';
import type { PortalServices, Report } from './services.ts';

/** What the pages and `/manage` are made from; `open` opens the files and returns the services. */
export type PortalParts = {
  config: Config;
  open: (request: Request) => PortalServices;
  report: Report;
  /** Throws if a request may not have reached the server in this way. */
  checkTransport: (request: Request, path: string, state: RequestState) => void;
};

/**
 * The pages under `/developers`; the application that uses them has the request's `state`. Refusals are pages too, and show what the
 * preceding checks have determined. Unknown paths pass the checks as well, so that a cross-site form is refused as such.
 */
export function pages({ config, open, report, checkTransport }: PortalParts) {
  const app = new Elysia({ strictPath: true })
    .derive((context) => {
      const { request, path, route, params, state } = context as typeof context & { state: Arrived };
      return { at: openPage(config, request, path, route, params, state) };
    })
    .onError(({ at, error, set }) => {
      // Otherwise Elysia copies the Response, which turns its body into a stream.
      set.status = 200;
      return refusePage(config, report, error, at);
    })
    .onBeforeHandle((context) => {
      const { request, path, state } = context as typeof context & { state: RequestState };
      checkTransport(request, path, state);
    })
    .onBeforeHandle(({ request }) => refuseCrossSite(request, config.publicUrl))
    .resolve(async ({ at }) => ({ sent: await readSent(at) }))
    .resolve(({ sent }) => ({ context: identifyVisitor(sent, open) }))
    .onBeforeHandle(({ context }) => authorise(context))
    .onBeforeHandle(async ({ context }) => waitForLocks(context));
  // One handler for all entries of the table: the checks need the entry earlier, and have stored it in the context.
  const show = async ({ context }: { context: PageContext }) => {
    const { act } = context.route;
    return answerOutcome(context, await act(context));
  };
  for (const path of new Set([...PAGE_ROUTES.map((route) => route.path), '/developers/*'])) {
    // `readSent` reads forms, because it knows which page they are for.
    app.all(path, show, { parse: 'none' }).head(path, show);
  }
  return app;
}
