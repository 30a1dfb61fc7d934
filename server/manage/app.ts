import { Elysia } from 'elysia';
import { routeFor } from '../thread/forwarded.ts';
import type { ThreadParts } from '../thread/pages.ts';
import { admitCaller, answerCall, answerJson, openCall } from './call-checks.ts';
import { openLogin } from './login.ts';
import { refuseCall } from './refusals.ts';
import type { AdmittedCall } from './request-context.ts';
import { DOCUMENT_PATH, LOGIN_ROUTES, MANAGE_ROUTES } from './routes.ts';

/** Keeps Elysia from reading bodies: they are read once the caller is authenticated. */
const UNREAD = { parse: 'none' } as const;

/** Everything under `/manage`. Refusals are JSON too. */
export function manage({ config, open, report }: ThreadParts) {
  const app = new Elysia({ strictPath: true })
    .derive(({ request, route, params }) => ({ at: openCall(request, route, params) }))
    .onError(({ at, error }) => refuseCall(report, error, at));
  const document = async () => (await import('./served.ts')).servedManageDocument(config);
  app.all(DOCUMENT_PATH, async ({ at }) => {
    routeFor([{ method: 'GET' }], at.request.method);
    return answerJson(at, await document());
  });
  for (const route of LOGIN_ROUTES) {
    const login = async ({ request, at }: { request: Request; at: ReturnType<typeof openCall> }) => {
      const { act } = routeFor([route], request.method);
      return answerJson(at, act(await openLogin(open(request), request)));
    };
    app.all(route.path, login, UNREAD).head(route.path, login);
  }
  // Elysia applies a hook to the routes that are registered after it: all others need a token.
  const admitted = app.resolve(({ at }) => ({ call: admitCaller(at, open) }));
  const routes = Map.groupBy(MANAGE_ROUTES, ({ path }) => path);
  for (const path of [...routes.keys(), '/manage', '/manage/*']) {
    const known = routes.get(path) ?? [];
    const answer = async ({ call }: { call: AdmittedCall }) => answerCall(call, known);
    admitted.all(path, answer, UNREAD).head(path, answer);
  }
  return admitted;
}
