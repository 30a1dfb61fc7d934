import type { Permission } from '../../shared/db/key-columns.ts';
import { renewView } from '../../shared/db/reader.ts';
import { AppError } from '../../shared/errors.ts';
import { isPermission } from '../../shared/keys/permissions.ts';
import { countUsage } from '../../shared/usage/usage-counter.ts';
import { collectAfterRequest } from '../process/collector.ts';
import type { Service } from '../process/service.ts';
import type { Answer, KeptAnswer, LateAnswer, StreamedAnswer } from './answers.ts';
import { authenticate } from './authenticate.ts';
import { clientAddress } from './client-address.ts';
import { type Exchange, targetOf, urlForElysia } from './exchange.ts';
import { admit, openQuota, type Quota, showLevels } from './quota.ts';
import { refuse } from './refusals.ts';
import { refusePlainHttp } from './transport.ts';

/** What a route finds without waiting. */
type Found = Answer | StreamedAnswer;

/** What a route finds after it has waited. */
type FoundLate = LateAnswer | KeptAnswer | StreamedAnswer;

/** An entry of the table of routes (app.ts). */
export type Route = {
  /** The path with its parameters, as Elysia writes it: `/api/lookup/uid/:uid`. */
  path: string;
  /** Who may ask: anyone, whoever has an Active key, or whoever has an Active key with this permission. */
  access: 'anyone' | 'any key' | Permission;
  /**
   * What a request spends of the key's rate limits. Where this is absent, it spends one request of each limit; otherwise
   * nothing, or as many as `answer` spends by `admit` once it has read the parameters.
   */
  spends?: 'nothing' | 'what it asks for';
  /** Returns false while the configuration leaves this path out; then the path is answered like an unknown one. */
  isThere?: (service: Service) => boolean;
  /** Reads the parameters, then finds the answer. Absent for unknown paths. */
  answer?: (service: Service, exchange: Exchange, route: Route) => Found | Promise<FoundLate>;
};

/** Longer paths are refused before anything reads them. The sentence of `uri_too_long` names this number. */
const MAX_PATH_LENGTH = 8_192;

/** Takes a request in; `peer` is the address at the other end of the connection. */
export function openExchange(service: Service, request: Request, peer: string): Exchange {
  const target = targetOf(request.url, request.headers.get('host'));
  const mark = target === null ? -1 : target.indexOf('?');
  return {
    request,
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
    refusal: null,
  };
}

/** Answers a request, logs it and counts it. Never throws. Returns a promise only where the route has to wait. */
export function answerExchange(service: Service, route: Route, exchange: Exchange): Response | Promise<Response> {
  let response: Response;
  const send = route.access === 'anyone' ? service.answers.toAnyone : service.answers.toKey;
  try {
    const answer = decide(service, route, exchange);
    if (answer instanceof Promise) {
      return answer
        .then((late) => send(exchange, late))
        .catch((error) => refuseExchange(service, exchange, error))
        .then((late) => finishExchange(service, templateOf(route, exchange), exchange, late));
    }
    response = send(exchange, answer);
  } catch (error) {
    response = refuseExchange(service, exchange, error);
  }
  return finishExchange(service, templateOf(route, exchange), exchange, response);
}

function refuseExchange(service: Service, exchange: Exchange, error: unknown): Response {
  const { response, code, fault } = refuse(service.refusals, error, exchange);
  exchange.refusal = code;
  const { requestId } = exchange;
  if (fault !== null) service.log.event('error', 'A request failed.', { requestId, cause: fault });
  return response;
}

/** Logs and counts an answer, just before it is sent; `template` is the path of its route, or null where nothing is there. */
export function finishExchange(
  service: Service,
  template: string | null,
  exchange: Exchange,
  response: Response,
): Response {
  const { clock } = service.deps;
  const { key, refusal } = exchange;
  // Bun adds a Date header (RFC 9110, section 6.6.1) to every answer but those to HEAD.
  if (exchange.method === 'HEAD') response.headers.set('Date', new Date(clock.nowMs()).toUTCString());
  const milliseconds = clock.monotonicMs() - exchange.startedAtMs;
  service.log.request(exchange, template, response.status, milliseconds);
  service.metrics?.count(template, response.status, refusal, milliseconds);
  if (key !== null) countUsage(service.counter, key, refusal);
  collectAfterRequest(service.collector);
  return response;
}

/** The route's path for log and metrics; null where nothing is at the path, or the request has no valid Host and so no path. */
function templateOf(route: Route, { path }: Exchange): string | null {
  return route.answer === undefined || path === null ? null : route.path;
}

/** Takes a request through its checks, in the order of docs/architecture.md. A check that fails throws, and the rest never runs. */
function decide(service: Service, route: Route, exchange: Exchange): Found | Promise<FoundLate> {
  checkArrival(service, exchange);
  if (route.access === 'anyone') return answerRoute(service, route, exchange);
  const quota = admitKey(service, route, exchange);
  try {
    return answerRoute(service, route, exchange);
  } catch (error) {
    // A lookup of many profiles may be refused before its cost is known. Then it costs one request, as every other refused
    // request does; where the limits have no room for one, it is refused for that.
    if (!quota.isDecided) admit(service.limits, quota, 1);
    throw error;
  }
}

/**
 * Finds the client's address, which it stores in the exchange. Throws `plain_http`, `bad_request` or `uri_too_long` for a
 * request that no route may answer.
 */
export function checkArrival({ transport }: Pick<Service, 'transport'>, exchange: Exchange): void {
  const forwardedFor = transport.isProxy === null ? null : exchange.headers.get('x-forwarded-for');
  exchange.address = clientAddress(transport.isProxy, exchange.peer, forwardedFor);
  refusePlainHttp(transport, exchange.peer, exchange.headers);
  if (exchange.path === null) throw new AppError('bad_request');
  if (exchange.path.length > MAX_PATH_LENGTH) throw new AppError('uri_too_long');
}

function answerRoute(service: Service, route: Route, exchange: Exchange): Found | Promise<FoundLate> {
  if (route.answer === undefined || route.isThere?.(service) === false) throw new AppError('unknown_path');
  if (exchange.method !== 'GET' && exchange.method !== 'HEAD') throw new AppError('method_not_allowed');
  if (isPermission(route.access)) requirePermission(exchange, route.access);
  return route.answer(service, exchange, route);
}

function admitKey(service: Service, route: Route, exchange: Exchange): Quota {
  renewView(service.reader, exchange.startedAtMs);
  const authorization = exchange.headers.get('authorization');
  exchange.key = authenticate(service.verify, service.throttle, authorization, exchange.address);
  const quota = openQuota(service.limits, exchange.key);
  exchange.quota = quota;
  if (route.spends === 'nothing') showLevels(service.limits, quota);
  else if (route.spends === undefined) admit(service.limits, quota, 1);
  return quota;
}

function requirePermission({ key }: Exchange, permission: Permission): void {
  if (key?.permissions.includes(permission)) return;
  throw lackOf(permission);
}

/** The refusal of a request whose key lacks a permission. */
export function lackOf(permission: Permission): AppError {
  return new AppError('insufficient_scope', `This API key lacks the permission ${permission}.`, { scope: permission });
}
