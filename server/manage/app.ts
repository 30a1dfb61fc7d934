import { Elysia } from 'elysia';
import type { Config } from '../../shared/config/config.ts';
import { AppError } from '../../shared/errors.ts';
import { methodsOf, refuseMethod } from '../thread/forwarded.ts';
import type { Pages } from '../thread/pages.ts';
import { admitCaller, answerJson, openCall, readCall } from './call-checks.ts';
import { openLogin } from './login.ts';
import { refuseCall } from './refusals.ts';
import type { JsonAnswer } from './request-context.ts';
import { DOCUMENT_PATH, LOGIN_ROUTES, MANAGE_ROUTES } from './routes.ts';

/** What the application works with: the configuration, a function that opens the files, and the log. */
export type ManageParts = { config: Config; open: (request: Request) => Pages; report: Pages['report'] };

/** Keeps Elysia from reading bodies: they are read once the caller is authenticated. */
const UNREAD = { parse: 'none' } as const;

/** Everything under `/manage`. Refusals are JSON too. */
export function manage({ config, open, report }: ManageParts) {
  const app = new Elysia({ strictPath: true })
    .derive(({ request, route, params }) => ({ at: openCall(request, route, params) }))
    .onBeforeHandle(({ at }) => admitCaller(at, open))
    .mapResponse(({ at, responseValue }) => answerJson(at, responseValue as JsonAnswer | Response))
    .onError(({ at, error }) => refuseCall(report, error, at));
  for (const { method, path, act } of LOGIN_ROUTES) {
    app.route(method, path, async ({ request }) => act(await openLogin(open(request), request)), UNREAD);
    app.all(path, () => refuseMethod([method]), UNREAD);
  }
  for (const path of new Set(MANAGE_ROUTES.map((route) => route.path))) {
    const routes = MANAGE_ROUTES.filter((route) => route.path === path);
    for (const route of routes) {
      const { act } = route;
      for (const method of methodsOf([route])) {
        app.route(method, path, async ({ at }) => act(await readCall(at, route)), UNREAD);
      }
    }
    app.all(path, () => refuseMethod(methodsOf(routes)), UNREAD);
  }
  const document = async () => (await import('./served.ts')).servedManageDocument(config);
  return app
    .get(DOCUMENT_PATH, document, UNREAD)
    .head(DOCUMENT_PATH, document, UNREAD)
    .all(DOCUMENT_PATH, () => refuseMethod(['GET', 'HEAD']), UNREAD)
    .all('/manage', refusePath, UNREAD)
    .all('/manage/*', refusePath, UNREAD);
}

function refusePath(): never {
  throw new AppError('unknown_path');
}
