import { Elysia } from 'elysia';
import { manage } from '../manage/app.ts';
import type { ThreadParts } from '../thread/portal-services.ts';
import { answerOutcome } from './requests/answers.ts';
import { refuseCrossSite } from './requests/cross-site.ts';
import { refusePage } from './requests/refusals.ts';
import { authorise, identifyVisitor, openPage, readSent, waitForLocks } from './requests/request-checks.ts';
import type { PageContext } from './requests/request-context.ts';
import { PAGE_ROUTES } from './routes.ts';

/** The application of the portal's thread: the pages under `/developers`, and JSON under `/manage`. */
export function createPortalApp(parts: ThreadParts) {
  return new Elysia({ strictPath: true, handler: { standardHostname: false } }).use(manage(parts)).use(pages(parts));
}

/**
 * Refusals are pages too, and show what the preceding checks have determined. Unknown paths pass the checks as well, so that a
 * cross-site form is refused as such.
 */
function pages({ config, open, report }: ThreadParts) {
  const app = new Elysia({ strictPath: true })
    .derive(({ request, path, route, params }) => ({ at: openPage(config, request, path, route, params) }))
    .onError(({ at, error }) => refusePage(config, report, error, at))
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
