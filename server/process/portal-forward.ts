import { Elysia } from 'elysia';
import type { ErrorCode } from '../../shared/errors.ts';
import { HSTS } from '../http/answers.ts';
import { everyRequest, transport } from '../http/every-request.ts';
import type { RequestState } from '../http/request-state.ts';
import { countFailure } from '../http/throttle.ts';
import { blockOf, checkTransport } from '../http/transport.ts';
import { reportTo } from '../observability/log.ts';
import { ROUTE_HEADER } from '../thread/forwarded.ts';
import type { Service } from './service.ts';

type Forwarded = { request: Request; path: string; state: RequestState };

/** Keeps Elysia from reading bodies: the bridge reads them. */
const UNREAD = { parse: 'none' } as const;

/** The pages under `/developers`, answered by the portal's thread. */
export function forwardPages(service: Service) {
  const page = async ({ request, path, state }: Forwarded) => {
    const refused = await refusePageOf(service, request, path, state);
    return completed(service, state, refused ?? (await service.bridge.fetch(request, state)));
  };
  return new Elysia({ name: 'pages' })
    .use(everyRequest(service))
    .all('/developers', page, UNREAD)
    .head('/developers', page)
    .all('/developers/*', page, UNREAD);
}

/** The paths under `/manage` that have no other route, answered by the portal's thread. */
export function forwardCalls(service: Service) {
  const call = async ({ request, state }: Forwarded) => {
    const answer = await forwardCall(service, request, state);
    return answer;
  };
  return new Elysia({ name: 'calls' })
    .use(transport(service))
    .all('/manage', call, UNREAD)
    .head('/manage', call)
    .all('/manage/*', call, UNREAD);
}

/**
 * Forwards a request under `/manage` to the portal. A refused token counts as a failed login, as under `/api`. Throws
 * `too_many_failures`.
 */
export async function forwardCall(service: Service, request: Request, state: RequestState): Promise<Response> {
  const answer = completed(service, state, await service.bridge.fetch(request, state));
  if (state.refusal === 'no_credentials' || state.refusal === 'invalid_token') {
    countFailure(service.throttle, blockOf(state.address));
  }
  return answer;
}

/** Reads the route and refusal of a response of the portal for log and metrics, and adds the common headers. */
function completed({ deps }: Service, state: RequestState, answer: Response): Response {
  const { headers } = answer;
  state.refusal = headers.get('x-error-code') as ErrorCode | null;
  state.template = headers.get(ROUTE_HEADER);
  headers.delete(ROUTE_HEADER);
  headers.set('X-Request-Id', state.requestId);
  if (deps.config.tls !== null) headers.set('Strict-Transport-Security', HSTS);
  return answer;
}

/** The page that refuses a request if it fails the transport checks; null if it passes. */
async function refusePageOf(
  { deps, log, transport }: Service,
  request: Request,
  path: string,
  state: RequestState,
): Promise<Response | null> {
  try {
    checkTransport(transport, request, path, state);
    return null;
  } catch (error) {
    const { refusePage } = await import('../portal/requests/refusals.ts');
    return refusePage(deps.config, reportTo(log), error);
  }
}
