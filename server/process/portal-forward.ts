import { Elysia } from 'elysia';
import type { ErrorCode } from '../../shared/errors.ts';
import { HSTS } from '../http/answers.ts';
import { everyRequest } from '../http/every-request.ts';
import type { RequestState } from '../http/request-state.ts';
import { checkTransport } from '../http/transport.ts';
import { reportTo } from '../observability/log.ts';
import { ROUTE_HEADER } from '../thread/forwarded.ts';
import type { Service } from './service.ts';

/** A request to forward, with its state. */
type Asked = { request: Request; path: string; state: RequestState };

/**
 * The pages under `/developers` and everything under `/manage`, answered by the portal's thread; no routes if
 * DEVELOPER_PLATFORM is off.
 */
export function forwardToPortal(service: Service) {
  const pages = async ({ request, path, state }: Asked) => {
    const answer =
      (await refuseArrivalOf(service, request, path, state)) ?? (await service.bridge.fetch(request, state));
    return completed(service, state, answer);
  };
  const manage = async ({ request, path, state }: Asked) => {
    const { answerManage } = await import('./manage-forward.ts');
    const refused = await refuseArrivalOf(service, request, path, state);
    return completed(service, state, refused ?? (await answerManage(service, request, path, state)));
  };
  const app = new Elysia({ name: 'portal' }).use(everyRequest(service));
  if (!service.deps.config.developerPlatform) return app;
  return app
    .all('/developers', pages, { parse: 'none' })
    .head('/developers', pages)
    .all('/developers/*', pages, { parse: 'none' })
    .all('/manage', manage, { parse: 'none' })
    .head('/manage', manage)
    .all('/manage/*', manage, { parse: 'none' });
}

/** Completes an answer of the portal: reads its route and refusal for log and metrics, and adds the common headers. */
function completed({ deps }: Service, state: RequestState, answer: Response): Response {
  const { headers } = answer;
  state.refusal = headers.get('x-error-code') as ErrorCode | null;
  state.template = headers.get(ROUTE_HEADER);
  headers.delete(ROUTE_HEADER);
  headers.set('X-Request-Id', state.requestId);
  if (deps.config.tls !== null) headers.set('Strict-Transport-Security', HSTS);
  return answer;
}

/** The refusal, as a page or JSON, of a request that fails the transport checks; null for every other one. */
async function refuseArrivalOf(
  { deps, log, transport }: Service,
  request: Request,
  path: string,
  state: RequestState,
): Promise<Response | null> {
  try {
    checkTransport(transport, request, path, state);
    return null;
  } catch (error) {
    const { refuseArrival } = await import('../portal/unanswered.ts');
    return refuseArrival(deps.config, reportTo(log), path, error);
  }
}
