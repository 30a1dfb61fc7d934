import { Elysia } from 'elysia';
import type { ThreadParts } from '../thread/portal-services.ts';
import { admitCaller, answerCall, openCall } from './call-checks.ts';
import { refuseCall } from './refusals.ts';
import type { AdmittedCall } from './request-context.ts';
import { MANAGE_ROUTES } from './routes.ts';

/** Keeps Elysia from reading bodies: they are read once the caller is authenticated. */
const UNREAD = { parse: 'none' } as const;

/** The paths under `/manage`, except that of a backend's profiles. */
export function manage({ open, report }: Pick<ThreadParts, 'open' | 'report'>) {
  const app = new Elysia({ strictPath: true })
    .derive(({ request, route, params }) => ({ at: openCall(request, route, params) }))
    .onError(({ at, error }) => refuseCall(report, error, at))
    .resolve(({ at }) => ({ call: admitCaller(at, open) }));
  const routes = Map.groupBy(MANAGE_ROUTES, ({ path }) => path);
  for (const path of [...routes.keys(), '/manage', '/manage/*']) {
    const known = routes.get(path) ?? [];
    const answer = async ({ call }: { call: AdmittedCall }) => answerCall(call, known);
    app.all(path, answer, UNREAD).head(path, answer);
  }
  return app;
}
