import { Elysia } from 'elysia';
import { routeFor } from '../thread/forwarded.ts';
import type { ThreadParts } from '../thread/portal-services.ts';
import { admitCaller, answerCall, answerJson, openCall } from './call-checks.ts';
import { refuseCall } from './refusals.ts';
import type { AdmittedCall } from './request-context.ts';
import { LOGIN_ROUTES, MANAGE_ROUTES } from './routes.ts';

/** Keeps Elysia from reading bodies: they are read once the caller is authenticated. */
const UNREAD = { parse: 'none' } as const;

/** The paths under `/manage`, except the OpenAPI document and a backend's profiles. */
export function manage({ open, report }: Pick<ThreadParts, 'open' | 'report'>) {
  const app = new Elysia({ strictPath: true })
    .derive(({ request, route, params }) => ({ at: openCall(request, route, params) }))
    .onError(({ at, error }) => refuseCall(report, error, at));
  for (const route of LOGIN_ROUTES) {
    const login = async ({ request, at }: { request: Request; at: ReturnType<typeof openCall> }) => {
      const { answer } = routeFor([route], request.method);
      return answerJson(at, await answer(open(request), request));
    };
    app.all(route.path, login, UNREAD).head(route.path, login);
  }
  // Elysia applies a hook only to routes that are registered after it: these need a token.
  const admitted = app.resolve(({ at }) => ({ call: admitCaller(at, open) }));
  const routes = Map.groupBy(MANAGE_ROUTES, ({ path }) => path);
  for (const path of [...routes.keys(), '/manage', '/manage/*']) {
    const known = routes.get(path) ?? [];
    const answer = async ({ call }: { call: AdmittedCall }) => answerCall(call, known);
    admitted.all(path, answer, UNREAD).head(path, answer);
  }
  return admitted;
}
