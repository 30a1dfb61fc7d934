import { readBackendToken } from '../../shared/backends/backend-tokens.ts';
import { noteTokenUse } from '../../shared/backends/token-uses.ts';
import { lockDeadline, onceUnlocked } from '../../shared/db/when-unlocked.ts';
import { AppError } from '../../shared/errors.ts';
import { parseJson } from '../../shared/text.ts';
import { queryOf, queryParameters } from '../http/parameters.ts';
import { credentialsOf } from '../http/with-key.ts';
import { runInBackground } from '../thread/background.ts';
import { ARRIVED_HEADERS, JSON_BODY, pathParameters, ROUTE_HEADER, readText, routeFor } from '../thread/forwarded.ts';
import type { PortalServices } from '../thread/portal-services.ts';
import {
  type AdmittedCall,
  ANYTHING,
  type ArrivedCall,
  type JsonAnswer,
  lackOfRight,
  type ManageRoute,
} from './request-context.ts';

// The checks of a request under /manage/v1, in this order: the token, the path, the method, the right, the
// parameters, the body.

/** Creates the state of a request; `params` are the parameters of its path as decoded by Elysia, null if malformed. */
export function openCall(
  request: Request,
  route: string,
  params?: Readonly<Record<string, string | null>>,
): ArrivedCall {
  const whole = pathParameters(params);
  return {
    request,
    requestId: request.headers.get(ARRIVED_HEADERS.requestId) ?? '',
    template: whole !== null && route.startsWith('/manage/') ? route : ANYTHING,
    params: whole ?? {},
    waitUntilMs: lockDeadline(),
  };
}

/** Authenticates the caller, and records the use of the token afterwards. Throws `no_credentials` and `invalid_token`. */
export function admitCaller(at: ArrivedCall, open: (request: Request) => PortalServices): AdmittedCall {
  const services = open(at.request);
  const { access, background, report } = services;
  const sent = credentialsOf(at.request.headers.get('authorization'));
  if (sent === null) throw TOKEN_REFUSALS.no_credentials;
  const token = readBackendToken(access.db, sent);
  if (token === null) throw TOKEN_REFUSALS.invalid_token;
  const note = () => noteTokenUse(access.sessions, access.clock, token.identifier);
  const onFault = (cause: unknown) => report('warn', 'The last use of a token could not be recorded.', cause);
  runInBackground(background, () => onceUnlocked(access.sessions.sqlite, note), onFault);
  return { ...at, services, access, token };
}

/** The refusals of requests without a valid token. */
export const TOKEN_REFUSALS = {
  no_credentials: new AppError('no_credentials', 'A token is required, sent as "Authorization: Bearer <token>".'),
  invalid_token: new AppError('invalid_token', 'This token is not valid.'),
} as const;

/**
 * Checks a request, and calls the route of its path that has its method. Throws `unknown_path`, `method_not_allowed`,
 * `insufficient_scope`, the route's own refusals, `bad_parameter`, and the refusals of bodies.
 */
export async function answerCall(call: AdmittedCall, routes: readonly ManageRoute[]): Promise<Response> {
  if (call.template === ANYTHING) throw new AppError('unknown_path');
  const { right, members, act } = routeFor(routes, call.request.method);
  if (right !== null && !call.token.rights.includes(right)) throw lackOfRight(right);
  queryParameters(queryOf(call.request), []);
  const body = members === null ? {} : await readMembers(call.request, members);
  return answerJson(call, await act({ ...call, body }));
}

async function readMembers(request: Request, allowed: readonly string[]): Promise<Record<string, unknown>> {
  const value = parseJson(await readText(request, JSON_BODY));
  if (!isObject(value)) throw JSON_BODY.malformed;
  if (Object.keys(value).some((name) => !allowed.includes(name))) {
    const rule = `must have no members${allowed.length === 0 ? '' : ` except ${allowed.join(' and ')}`}`;
    throw new AppError('bad_body', `The body ${rule}.`);
  }
  return value;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Creates the response for a route's answer. */
function answerJson({ template }: Pick<ArrivedCall, 'template'>, answer: JsonAnswer): Response {
  const { status = 200, headers = {}, body } = answer;
  return new Response(JSON.stringify(body), {
    status,
    headers: { ...JSON_HEADERS, ...headers, [ROUTE_HEADER]: template },
  });
}

/** The headers of every response. */
export const JSON_HEADERS = {
  'Content-Type': 'application/json',
  'Cache-Control': 'no-store',
  'X-Content-Type-Options': 'nosniff',
} as const;
