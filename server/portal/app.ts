import { Elysia } from 'elysia';
import type { Config } from '../../shared/config/config.ts';
import { AppError } from '../../shared/errors.ts';
import { manage } from '../manage/app.ts';
import { methodsOf, refuseMethod } from '../thread/forwarded.ts';
import type { Pages } from '../thread/pages.ts';
import { answerOutcome } from './requests/answers.ts';
import { refuseCrossSite } from './requests/cross-site.ts';
import { refusePage } from './requests/refusals.ts';
import { admitVisitor, openPage, readSent, waitForLocks } from './requests/request-checks.ts';
import type { Outcome, PageContext } from './requests/request-context.ts';
import { PAGE_ROUTES } from './routes.ts';

/** What the application works with: the configuration, a function that opens the files, and the log. */
export type PortalParts = { config: Config; open: (request: Request) => Pages; report: Pages['report'] };

/** Keeps Elysia from reading bodies: forms are read once it is known which page they are for. */
const UNREAD = { parse: 'none' } as const;

/** The application of the portal's thread: the pages under `/developers`, and JSON under `/manage`. */
export function createPortalApp(parts: PortalParts) {
  return new Elysia({ strictPath: true, handler: { standardHostname: false } }).use(manage(parts)).use(pages(parts));
}

/**
 * The pages under `/developers`. Refusals are pages too, which show what the checks before have found out. Unknown paths pass
 * the checks as well, so that a form of another site is refused as such.
 */
function pages({ config, open, report }: PortalParts) {
  const app = new Elysia({ strictPath: true })
    .derive(({ request, route, params }) => ({ at: openPage(config, request, route, params) }))
    .onBeforeHandle(({ request }) => refuseCrossSite(request, config.publicUrl))
    .onBeforeHandle(async ({ at }) => readSent(at))
    .onBeforeHandle(({ at }) => admitVisitor(at, open))
    .onBeforeHandle(async ({ at }) => waitForLocks(at))
    .mapResponse(({ at, responseValue }) => answerOutcome(at, responseValue as Outcome | Response))
    .onError(({ at, error }) => refusePage(config, report, error, at));
  for (const path of new Set(PAGE_ROUTES.map((route) => route.path))) {
    const routes = PAGE_ROUTES.filter((route) => route.path === path);
    for (const { method: own, act } of routes) {
      for (const method of methodsOf([{ method: own }])) {
        app.route(method, path, async ({ at }) => act(at.context as PageContext), UNREAD);
      }
    }
    app.all(path, () => refuseMethod(methodsOf(routes)), UNREAD);
  }
  return app.all('/developers/*', refusePath, UNREAD);
}

function refusePath(): never {
  throw new AppError('unknown_path');
}
