import { AppError } from '../shared/errors.ts';
import { PERMISSIONS, type Permission } from '../shared/keys/permissions.ts';
import { type Answer, commonHeaders } from './answers.ts';
import { authenticate } from './authenticate.ts';
import { clientAddress } from './client-address.ts';
import { type Exchange, targetOf, urlForElysia } from './exchange.ts';
import { admit, openQuota } from './quota.ts';
import { refuse } from './refusals.ts';
import type { Service } from './service.ts';
import { refusePlainHttp } from './transport.ts';

/** An entry of the server's table of contents. */
export type Route = {
  /** As Elysia and OpenAPI-like documents write it: `/api/lookup/uid/:uid`. */
  path: string;
  /** Who may ask: anyone, the holder of any Active key, or of one with this permission. */
  access: 'anyone' | 'any key' | Permission;
  /** Whether a request spends nothing of the key's rate limits. */
  isFree?: true;
  /** Reads the parameters, then looks up. Absent where there is nothing: unknown paths. */
  answer?: (service: Service, exchange: Exchange, route: Route) => Answer;
};

/** Longer paths are refused before anything looks at them. */
const MAX_PATH_LENGTH = 8_192;

/** Takes a request in. */
export function openExchange(service: Service, request: Request, peer: string): Exchange {
  const target = targetOf(request.url);
  const mark = target === null ? -1 : target.indexOf('?');
  return {
    url: urlForElysia(target ?? '/'),
    method: request.method,
    headers: request.headers,
    path: target === null || mark === -1 ? target : target.slice(0, mark),
    query: target === null || mark === -1 ? '' : target.slice(mark + 1),
    peer,
    address: peer,
    requestId: service.nextRequestId(),
    startedAtMs: service.deps.clock.monotonicMs(),
    key: null,
    quota: null,
  };
}

/** Answers one request of a route, whatever happens, and logs it. Never throws. */
export function answerExchange(service: Service, route: Route, exchange: Exchange): Response {
  let response: Response;
  try {
    const answer = decide(service, route, exchange);
    const send = route.access === 'anyone' ? service.answers.toAnyone : service.answers.toKey;
    response = send(exchange, answer);
  } catch (error) {
    const refused = refuse(error, commonHeaders(exchange, service.isSecure));
    response = refused.response;
    if (refused.fault !== null) {
      const { requestId } = exchange;
      service.log.event('error', 'A request failed.', { requestId, cause: refused.fault });
    }
  }
  // Bun gives every answer but those to HEAD a Date (RFC 9110, section 6.6.1).
  if (exchange.method === 'HEAD') response.headers.set('Date', new Date(service.deps.clock.nowMs()).toUTCString());
  const milliseconds = service.deps.clock.monotonicMs() - exchange.startedAtMs;
  service.log.request(exchange, route.answer === undefined ? null : route.path, response.status, milliseconds);
  return response;
}

/** The order in which a request is judged (README, "Errors"): each step may throw, and the rest never runs. */
function decide(service: Service, route: Route, exchange: Exchange): Answer {
  const { transport } = service;
  exchange.address = clientAddress(transport.proxies, exchange.peer, exchange.headers.get('x-forwarded-for'));
  if (service.isStopping) throw new AppError('shutting_down', 'The server is shutting down.', { retryAfterSeconds: 5 });
  refusePlainHttp(transport, exchange.peer, exchange.headers);
  if (exchange.path === null) throw new AppError('bad_request', 'The request has no valid Host header.');
  if (exchange.path.length > MAX_PATH_LENGTH) {
    throw new AppError('uri_too_long', `The path is longer than ${MAX_PATH_LENGTH} bytes.`);
  }
  if (route.access !== 'anyone') admitKey(service, route, exchange);
  if (route.answer === undefined) throw new AppError('unknown_path', 'There is nothing at this path.');
  if (exchange.method !== 'GET' && exchange.method !== 'HEAD') {
    throw new AppError('method_not_allowed', 'This path answers GET and HEAD only.');
  }
  if (isPermission(route.access)) requirePermission(exchange, route.access);
  return route.answer(service, exchange, route);
}

function admitKey(service: Service, route: Route, exchange: Exchange): void {
  const authorization = exchange.headers.get('authorization');
  exchange.key = authenticate(service.verify, service.throttle, authorization, exchange.address);
  exchange.quota = openQuota(service.ledger, exchange.key);
  if (!route.isFree) admit(service.ledger, exchange.quota);
}

function isPermission(access: Route['access']): access is Permission {
  return (PERMISSIONS as readonly string[]).includes(access);
}

function requirePermission({ key }: Exchange, permission: Permission): void {
  if (key?.permissions.includes(permission)) return;
  throw new AppError('insufficient_scope', `This API key lacks the permission ${permission}.`, { scope: permission });
}
