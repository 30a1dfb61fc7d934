import { Elysia } from 'elysia';
import { AppError } from '../../shared/errors.ts';
import { type Random, randomBase62 } from '../../shared/random.ts';
import { countUsage } from '../../shared/usage/usage.ts';
import { type Answer, answerTo, codeOf, HSTS, refuse } from './answers.ts';
import { admit } from './quota.ts';
import type { RequestState, Serving } from './serving.ts';
import { checkTransport, clientAddress } from './transport.ts';

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
      const isMade = responseValue instanceof Response;
      if (isMade) sign(responseValue, state);
      const response = isMade ? responseValue : answerTo(request, state, responseValue as Answer);
      complete(serving, state, response);
      return response;
    })
    .as('scoped');
}

/** {@link requestState} for requests whose refusals are JSON. */
function everyRequest(serving: Serving) {
  return new Elysia({ name: 'every-request' })
    .use(requestState(serving))
    .onError(({ error, state, set }) => {
      // Only if the state itself could not be made; the listener answers then.
      if (state === undefined) throw error;
      // Otherwise Elysia copies the Response of `mapResponse`, which turns its body into a stream.
      set.status = 200;
      return refused(serving, chargeUndecided(serving, state, error), state);
    })
    .as('scoped');
}

const MADE = new WeakMap<Serving, ReturnType<typeof makeTransport>>();

/** Applies {@link checkTransport}, and throws what it throws. Made once for all areas, because Elysia reads the source of hooks. */
export function transport(serving: Serving) {
  const made = MADE.get(serving) ?? makeTransport(serving);
  MADE.set(serving, made);
  return made;
}

function makeTransport(serving: Serving) {
  return new Elysia({ name: 'transport' })
    .use(everyRequest(serving))
    .onBeforeHandle(({ request, path, state }) => {
      checkTransport(serving.transport, request, path, state.peer);
    })
    .as('scoped');
}

/** Creates a generator of request ids: a random prefix, then a counter. Ids sent by clients are ignored. */
export function requestIds(random: Random): () => string {
  const prefix = randomBase62(12, random);
  let count = 0;
  return () => `${prefix}-${(++count).toString(36)}`;
}

function openState(serving: Serving, request: Request, route: string): RequestState {
  const { transport, connections, nextRequestId, deps } = serving;
  const { isProxy } = transport;
  // Elysia defines its `server` getter again for each request, which would take a tenth of a lookup's time.
  const peer = connections?.requestIP(request)?.address ?? '';
  const forwardedFor = isProxy === null ? null : request.headers.get('x-forwarded-for');
  return {
    requestId: nextRequestId(),
    startedAtMs: deps.clock.monotonicMs(),
    method: request.method,
    peer,
    address: clientAddress(isProxy, peer, forwardedFor, () => noteUnreadable(serving)),
    template: UNKNOWN_PATHS.includes(route) ? null : route,
    key: null,
    quota: null,
    refusal: null,
  };
}

/** Logs once that clients share the proxy's address, and so its limits. The entry is not logged: a client may have sent it. */
function noteUnreadable({ transport, log }: Serving): void {
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
function chargeUndecided({ limits }: Serving, { quota }: RequestState, error: unknown): unknown {
  if (quota === null || quota.isDecided) return error;
  try {
    admit(limits, quota, 1);
    return error;
  } catch (refusal) {
    return refusal;
  }
}

/** Creates the response to an error, and logs the error if the server is at fault. */
function refused(serving: Serving, error: unknown, state: RequestState): Response {
  const { response, fault } = refuse(serving.deps.config.databasePath, error, state);
  if (fault !== null) serving.log.event('error', 'A request failed.', { requestId: state.requestId, cause: fault });
  return response;
}

/**
 * Answers a request whose path Elysia would not find, because Host and target form no URL or Host is very short: it has reached
 * no route, and so no plugin.
 */
export function refuseUnroutable(serving: Serving, request: Request): Response {
  const state = openState(serving, request, '/*');
  const response = refused(serving, new AppError('bad_request'), state);
  sign(response, state);
  complete(serving, state, response);
  return response;
}

/** Completes a response that a page or a refusal has made; those of {@link answerTo} are complete. */
function sign(response: Response, state: RequestState): void {
  state.refusal = codeOf(response);
  response.headers.set('X-Request-Id', state.requestId);
}

/** Adds the header of every response over TLS, logs the response and counts it. */
function complete(serving: Serving, state: RequestState, response: Response): void {
  const { clock, config } = serving.deps;
  const { key, refusal, template, method } = state;
  if (config.tls !== null) response.headers.set('Strict-Transport-Security', HSTS);
  // Bun adds a Date header (RFC 9110, section 6.6.1) to every response except those to HEAD.
  if (method === 'HEAD') response.headers.set('Date', new Date(clock.nowMs()).toUTCString());
  const milliseconds = clock.monotonicMs() - state.startedAtMs;
  serving.log.request(state, response.status, milliseconds);
  serving.metrics?.count(template, response.status, refusal, milliseconds);
  if (key !== null) countUsage(serving.usage, key.identifier, refusal);
}
