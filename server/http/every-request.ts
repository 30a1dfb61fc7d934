import { Elysia } from 'elysia';
import { AppError } from '../../shared/errors.ts';
import { type Random, randomBase62 } from '../../shared/random.ts';
import { countUsage } from '../../shared/usage/usage.ts';
import type { RequestState, Service } from '../service.ts';
import { type Answer, answerTo, codeOf, HSTS, refuse } from './answers.ts';
import { admit } from './quota.ts';
import { checkTransport, clientAddress } from './transport.ts';

// Elysia analyses the source of hooks and handlers, as printed by Bun: the context only has the properties that they
// destructure, and a function that ends in `return f(…)` is awaited (Bun prints `const answer = f(…); return answer;` that way
// too). So they destructure, and the handlers of lookups return an object.

const UNKNOWN_PATHS = ['/api', '/api/*', '/*'];

/**
 * The plugin of all requests: creates their state and, after the route, the response or refusal with the common headers, which
 * it logs and counts. A route returns an {@link Answer}, a refusal, or a complete Response.
 */
export function requestState(service: Service) {
  return new Elysia({ name: 'request-state' })
    .derive(({ request, route }) => {
      const state = openState(service, request, route);
      return { state };
    })
    .mapResponse(({ request, state, responseValue }) => {
      const isMade = responseValue instanceof Response;
      if (isMade) sign(responseValue, state);
      const response = isMade ? responseValue : answerTo(request, state, responseValue as Answer);
      complete(service, state, response);
      return response;
    })
    .as('scoped');
}

/** {@link requestState} for requests whose refusals are JSON. */
function jsonRefusals(service: Service) {
  return new Elysia({ name: 'json-refusals' })
    .use(requestState(service))
    .onError(({ error, state, set }) => {
      // Only if the state itself could not be made; the listener answers then.
      if (state === undefined) throw error;
      // Otherwise Elysia copies the Response of `mapResponse`, which turns its body into a stream.
      set.status = 200;
      return refused(service, chargeUndecided(service, state, error), state);
    })
    .as('scoped');
}

const MADE = new WeakMap<Service, ReturnType<typeof makeTransport>>();

/** Applies {@link checkTransport}, and throws what it throws. Made once for all areas, because Elysia reads the source of hooks. */
export function transport(service: Service) {
  const made = MADE.get(service) ?? makeTransport(service);
  MADE.set(service, made);
  return made;
}

function makeTransport(service: Service) {
  return new Elysia({ name: 'transport' })
    .use(jsonRefusals(service))
    .onBeforeHandle(({ request, path, state }) => {
      checkTransport(service.transport, request, path, state.peer);
    })
    .as('scoped');
}

/** Creates a generator of request ids: a random prefix, then a counter. Ids sent by clients are ignored. */
export function requestIds(random: Random): () => string {
  const prefix = randomBase62(12, random);
  let count = 0;
  return () => `${prefix}-${(++count).toString(36)}`;
}

function openState(service: Service, request: Request, route: string): RequestState {
  const { transport, connections, nextRequestId, deps } = service;
  const { isProxy } = transport;
  // Elysia defines its `server` getter again for each request, which would take a tenth of a lookup's time.
  const peer = connections === null ? '' : (connections.requestIP(request)?.address ?? null);
  const forwardedFor = isProxy === null ? null : request.headers.get('x-forwarded-for');
  return {
    requestId: nextRequestId(),
    startedAtMs: deps.clock.monotonicMs(),
    method: request.method,
    peer,
    address: clientAddress(isProxy, peer ?? '', forwardedFor, () => noteUnreadable(service)),
    template: UNKNOWN_PATHS.includes(route) ? null : route,
    key: null,
    quota: null,
    refusal: null,
  };
}

/** Logs once that clients share the proxy's address, and so its limits. The entry is not logged: a client may have sent it. */
function noteUnreadable({ transport, log }: Service): void {
  if (transport.hasUnreadable) return;
  transport.hasUnreadable = true;
  log.event(
    'warn',
    'An entry of X-Forwarded-For is not an IP address, so the address of the proxy counts instead; see TRUSTED_PROXIES.',
  );
}

/**
 * A lookup of many profiles may be refused before its cost is known. It then costs one request, like every other refused
 * request; if the limits have no room even for that, it is rate-limited instead.
 */
function chargeUndecided({ limits }: Service, { quota }: RequestState, error: unknown): unknown {
  if (quota === null || quota.isDecided) return error;
  try {
    admit(limits, quota, 1);
    return error;
  } catch (refusal) {
    return refusal;
  }
}

/** Creates the response to an error, and logs the error if the server is at fault. */
function refused(service: Service, error: unknown, state: RequestState): Response {
  const { response, fault } = refuse(service.deps.config.databasePath, error, state);
  if (fault !== null) service.log.event('error', 'A request failed.', { requestId: state.requestId, cause: fault });
  return response;
}

/**
 * Answers a request whose path Elysia would not find, because Host and target form no URL or Host is very short: it has reached
 * no route, and so no plugin.
 */
export function refuseUnroutable(service: Service, request: Request): Response {
  const state = openState(service, request, '/*');
  const response = refused(service, new AppError('bad_request'), state);
  sign(response, state);
  complete(service, state, response);
  return response;
}

/**
 * Answers a request for which the application itself threw, which should never happen. The request is unknown here, so the
 * response and the log have a new id.
 */
export function refuseUncaught({ nextRequestId, log, deps }: Service, error: unknown): Response {
  const requestId = nextRequestId();
  const { response } = refuse(deps.config.databasePath, error, null);
  response.headers.set('X-Request-Id', requestId);
  log.event('error', 'A request failed.', { requestId, cause: error });
  return response;
}

/** Completes a response that a page or a refusal has made; those of {@link answerTo} are complete. */
function sign(response: Response, state: RequestState): void {
  state.refusal = codeOf(response);
  response.headers.set('X-Request-Id', state.requestId);
}

/** Adds the header of every response over TLS, logs the response and counts it. */
function complete(service: Service, state: RequestState, response: Response): void {
  const { clock, config } = service.deps;
  const { key, refusal, template, method } = state;
  if (config.tls !== null) response.headers.set('Strict-Transport-Security', HSTS);
  // Bun adds a Date header (RFC 9110, section 6.6.1) to every response except those to HEAD.
  if (method === 'HEAD') response.headers.set('Date', new Date(clock.nowMs()).toUTCString());
  const milliseconds = clock.monotonicMs() - state.startedAtMs;
  service.log.request(state, response.status, milliseconds);
  service.metrics?.count(template, response.status, refusal, milliseconds);
  if (key !== null) countUsage(service.usage, key.identifier, refusal);
}
