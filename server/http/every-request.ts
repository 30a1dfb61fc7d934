import { Elysia } from 'elysia';
import { AppError, type ErrorCode } from '../../shared/errors.ts';
import { type Random, randomBase62 } from '../../shared/random.ts';
import { countUsage } from '../../shared/usage/usage-counter.ts';
import { type Answer, answerTo, HSTS, type KeptAnswer } from './answers.ts';
import { refuse } from './errors.ts';
import { admit } from './quota.ts';
import type { RequestState } from './request-state.ts';
import type { Serving } from './serving.ts';
import { checkTransport, clientAddress, hasUrl, originalOf } from './transport.ts';

// Elysia analyses the source of hooks and handlers, as printed by Bun: the context only has the properties that they
// destructure, and a function that ends in `return f(…)` is awaited (Bun prints `const answer = f(…); return answer;` that way
// too). So they destructure, and the handlers of lookups return an object.

const UNKNOWN_PATHS = ['/api', '/api/*', '/*'];

/**
 * The plugin of all requests: creates their state and, after the route, the response or refusal with the common headers, which
 * it logs and counts. A route returns an {@link Answer}, a refusal, or a complete Response.
 */
export function requestState(serving: Serving) {
  return new Elysia({ name: 'request-state' })
    .derive(({ request, route }) => {
      const state = openState(serving, request, route);
      return { state };
    })
    .mapResponse(({ request, state, responseValue }) => {
      const response = responseOf(serving, request, state, responseValue);
      logAnswer(serving, state, response);
      return response;
    })
    .as('scoped');
}

/** {@link requestState} for requests whose refusals are JSON. */
export function everyRequest(serving: Serving) {
  return new Elysia({ name: 'every-request' })
    .use(requestState(serving))
    .onError(({ error, state, set }) => {
      // Otherwise Elysia copies the Response of `mapResponse`, which turns its body into a stream.
      set.status = 200;
      const thrown = state === undefined ? error : chargeUndecided(serving, state, error);
      return { thrown };
    })
    .as('scoped');
}

/** Applies {@link checkTransport}, and throws what it throws. */
export function transport(serving: Serving) {
  return new Elysia({ name: 'transport' })
    .use(everyRequest(serving))
    .onBeforeHandle(({ request, path, state }) => {
      checkTransport(serving.transport, request, path, state);
    })
    .as('scoped');
}

/** Refuses every method except GET and HEAD with `method_not_allowed`. */
export function reading(serving: Serving) {
  return new Elysia({ name: 'reading' })
    .use(everyRequest(serving))
    .onBeforeHandle(({ state: { method } }) => {
      if (method !== 'GET' && method !== 'HEAD') throw new AppError('method_not_allowed');
    })
    .as('scoped');
}

/** Creates a generator of request ids: a random prefix, then a counter. Ids sent by clients are ignored. */
export function requestIds(random: Random): () => string {
  const prefix = randomBase62(12, random);
  let count = 0;
  return () => `${prefix}-${(++count).toString(36)}`;
}

function openState(serving: Serving, given: Request, route: string): RequestState {
  const { isProxy } = serving.transport;
  // Elysia defines its `server` getter again for each request, which would take a tenth of a lookup's time.
  const server = serving.connections;
  // Only a copy has no address.
  const socket = server?.requestIP(given) ?? null;
  const request = socket === null ? originalOf(given) : given;
  const peer = (socket ?? server?.requestIP(request))?.address ?? '';
  const { method, headers } = request;
  const isUrl = hasUrl(request);
  return {
    requestId: serving.nextRequestId(),
    startedAtMs: serving.deps.clock.monotonicMs(),
    method,
    peer,
    address: clientAddress(isProxy, peer, isProxy === null ? null : headers.get('x-forwarded-for')),
    hasUrl: isUrl,
    template: isUrl && !UNKNOWN_PATHS.includes(route) ? route : null,
    key: null,
    quota: null,
    refusal: null,
  };
}

/**
 * A lookup of many profiles may be refused before its cost is known. It then costs one request, like every other refused
 * request; if the limits have no room even for that, it is rate-limited instead.
 */
function chargeUndecided({ limits }: Serving, { quota }: RequestState, error: unknown): unknown {
  if (quota === null || quota.isDecided) return error;
  try {
    admit(limits, quota, 1);
    return error;
  } catch (refusal) {
    return refusal;
  }
}

/** Creates the response for the value that a route returned or threw. */
function responseOf(serving: Serving, request: Request, state: RequestState, value: unknown): Response {
  if (value instanceof Response) return completed(serving, state, value);
  if (isAnswer(value)) return answerTo(serving.answers, request, state, value);
  const { response, code, fault } = refuse(serving.refusals, thrownOf(value), state);
  state.refusal = code;
  const { requestId } = state;
  if (fault !== null) serving.log.event('error', 'A request failed.', { requestId, cause: fault });
  return response;
}

/** Adds the common headers to a page or to JSON of `/manage`, and notes its refusal for log and metrics. */
function completed({ deps }: Serving, state: RequestState, answer: Response): Response {
  const { headers } = answer;
  state.refusal = headers.get('x-error-code') as ErrorCode | null;
  headers.set('X-Request-Id', state.requestId);
  if (deps.config.tls !== null) headers.set('Strict-Transport-Security', HSTS);
  return answer;
}

function logAnswer(serving: Serving, state: RequestState, response: Response): void {
  const { clock } = serving.deps;
  const { key, refusal, template, method } = state;
  // Bun adds a Date header (RFC 9110, section 6.6.1) to every response except those to HEAD.
  if (method === 'HEAD') response.headers.set('Date', new Date(clock.nowMs()).toUTCString());
  const milliseconds = clock.monotonicMs() - state.startedAtMs;
  serving.log.request(state, response.status, milliseconds);
  serving.metrics?.count(template, response.status, refusal, milliseconds);
  if (key !== null) countUsage(serving.counter, key, refusal);
}

function isAnswer(value: unknown): value is Answer | KeptAnswer {
  return typeof value === 'object' && value !== null && 'body' in value;
}

function thrownOf(value: unknown): unknown {
  return typeof value === 'object' && value !== null && 'thrown' in value ? value.thrown : value;
}
