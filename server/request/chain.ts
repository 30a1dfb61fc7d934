import type { Permission } from '../../shared/db/key-columns.ts';
import { renewView } from '../../shared/db/reader.ts';
import { AppError } from '../../shared/errors.ts';
import { isPermission } from '../../shared/keys/permissions.ts';
import type { Service } from '../process/service.ts';
import type { Answer, LateAnswer, StreamedAnswer } from './answers.ts';
import { authenticate } from './authenticate.ts';
import { clientAddress } from './client-address.ts';
import { type Exchange, targetOf, urlForElysia } from './exchange.ts';
import { admit, openQuota, type Quota, showLevels } from './quota.ts';
import { refusePlainHttp } from './transport.ts';

/** What a route finds at once. */
type Found = Answer | StreamedAnswer;

/** An entry of the server's table of contents. */
export type Route = {
  /** As Elysia and OpenAPI-like documents write it: `/api/lookup/uid/:uid`. */
  path: string;
  /** Who may ask: anyone, the holder of any Active key, or of one with this permission. */
  access: 'anyone' | 'any key' | Permission;
  /**
   * What a request spends of the key's rate limits, where it is not one of each: nothing, or as many as `answer` admits
   * once it has read the parameters.
   */
  spends?: 'nothing' | 'what it asks for';
  /** False while the configuration leaves this path out: then it is as unknown as any other. */
  isThere?: (service: Service) => boolean;
  /** Reads the parameters, then looks up. Absent where there is nothing: unknown paths. */
  answer?: (service: Service, exchange: Exchange, route: Route) => Found | Promise<LateAnswer | StreamedAnswer>;
};

/** Longer paths are refused before anything looks at them; the sentence of `uri_too_long` names this number. */
const MAX_PATH_LENGTH = 8_192;

/** Takes a request in. */
export function openExchange(service: Service, request: Request, peer: string): Exchange {
  const target = targetOf(request.url, request.headers.get('host'));
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
    refusal: null,
  };
}

/** Answers one request of a route, whatever happens, logs and counts it. Never throws; waits only where the route does. */
export function answerExchange(service: Service, route: Route, exchange: Exchange): Response | Promise<Response> {
  let response: Response;
  const send = route.access === 'anyone' ? service.answers.toAnyone : service.answers.toKey;
  try {
    const answer = decide(service, route, exchange);
    if (answer instanceof Promise) {
      return answer
        .then((late) => send(exchange, late))
        .catch((error) => refuseExchange(service, exchange, error))
        .then((late) => finishExchange(service, route, exchange, late));
    }
    response = send(exchange, answer);
  } catch (error) {
    response = refuseExchange(service, exchange, error);
  }
  return finishExchange(service, route, exchange, response);
}

function refuseExchange(service: Service, exchange: Exchange, error: unknown): Response {
  const { response, code, fault } = service.refuse(error, exchange);
  exchange.refusal = code;
  const { requestId } = exchange;
  if (fault !== null) service.log.event('error', 'A request failed.', { requestId, cause: fault });
  return response;
}

function finishExchange(service: Service, route: Route, exchange: Exchange, response: Response): Response {
  const { clock } = service.deps;
  const { key, refusal } = exchange;
  // Bun gives every answer but those to HEAD a Date (RFC 9110, section 6.6.1).
  if (exchange.method === 'HEAD') response.headers.set('Date', new Date(clock.nowMs()).toUTCString());
  const template = templateOf(route, exchange);
  const milliseconds = clock.monotonicMs() - exchange.startedAtMs;
  service.log.request(exchange, template, response.status, milliseconds);
  service.metrics?.count(template, response.status, refusal, milliseconds);
  if (key !== null) service.usage.count(key, refusal);
  service.collect();
  return response;
}

/** What the log calls the path: null where nothing is there, or where the request named no host and so no path. */
function templateOf(route: Route, { path }: Exchange): string | null {
  return route.answer === undefined || path === null ? null : route.path;
}

/** Takes a request through its checks, in the order of docs/architecture.md. A check that fails throws, and the rest never runs. */
function decide(service: Service, route: Route, exchange: Exchange): Found | Promise<LateAnswer | StreamedAnswer> {
  const { transport } = service;
  const forwardedFor = transport.isProxy === null ? null : exchange.headers.get('x-forwarded-for');
  exchange.address = clientAddress(transport.isProxy, exchange.peer, forwardedFor);
  refusePlainHttp(transport, exchange.peer, exchange.headers);
  if (exchange.path === null) throw new AppError('bad_request');
  if (exchange.path.length > MAX_PATH_LENGTH) throw new AppError('uri_too_long');
  if (route.access === 'anyone') return answerRoute(service, route, exchange);
  const quota = admitKey(service, route, exchange);
  try {
    return answerRoute(service, route, exchange);
  } catch (error) {
    // A lookup of many that is refused before it is known what it costs costs one, as any other refused request; where
    // there is no room even for that one, it is refused for the limit.
    if (!quota.isDecided) admit(service.limits, quota, 1);
    throw error;
  }
}

function answerRoute(service: Service, route: Route, exchange: Exchange): Found | Promise<LateAnswer | StreamedAnswer> {
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

/** The refusal of a key that lacks a permission. */
export function lackOf(permission: Permission): AppError {
  return new AppError('insufficient_scope', `This API key lacks the permission ${permission}.`, { scope: permission });
}
