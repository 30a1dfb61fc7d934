import type { Access } from '../../shared/access/access.ts';
import { notePersonTokenUse, readPersonToken } from '../../shared/access/person-tokens.ts';
import { readPlatformToken } from '../../shared/access/platform-tokens.ts';
import { noteTokenUse } from '../../shared/access/token-uses.ts';
import { AppError } from '../../shared/errors.ts';
import { runInBackground } from '../developers/background.ts';
import { chooseMethod, findRoutes, matchPath } from '../developers/match.ts';
import type { PageAnswer, PageRequest } from '../developers/messages.ts';
import type { Pages } from '../developers/visit.ts';
import { credentialsOf } from '../http/authenticate.ts';
import { queryParameters } from '../http/parameters.ts';
import { type Answered, type Call, type Caller, type ManageRoute, personTokenOf, platformTokenOf } from './call.ts';
import { openLogin } from './login.ts';
import { ANYTHING, refuseCall } from './refusals.ts';
import { LOGIN_ROUTES, MANAGE_ROUTES } from './routes.ts';

// What the platform thread does for /manage/v1. The checks come in this order: the token, the path, the method, who asks,
// the parameters, the body. `login.ts` has those of the two paths that take no token.

/** Answers a request. Never throws: whatever goes wrong is answered with JSON too. */
export async function answerCall(pages: Pages, request: PageRequest): Promise<PageAnswer> {
  const routes = [...LOGIN_ROUTES, ...MANAGE_ROUTES];
  const template = routes.find(({ path }) => matchPath(path, request.path) !== null)?.path ?? ANYTHING;
  try {
    if (LOGIN_ROUTES.some(({ path }) => path === template)) {
      const { route } = chooseMethod(findRoutes(LOGIN_ROUTES, request.path), request.method);
      const { act } = route;
      return answerOf(template, act(openLogin(pages, request)));
    }
    const { route, call } = openCall(pages, request);
    if ('feed' in route) return { ...answerOf(template, { body: {} }), feed: route.feed(call) };
    const { act } = route;
    return answerOf(template, await act(call));
  } catch (error) {
    return refuseCall(error, template);
  }
}

function answerOf(template: string, { status = 200, headers = {}, body }: Answered): PageAnswer {
  return {
    status,
    headers: [...JSON_HEADERS, ...Object.entries(headers)],
    body: JSON.stringify(body),
    template,
    refusal: null,
    fault: null,
  };
}

const JSON_HEADERS: PageAnswer['headers'] = [
  ['Content-Type', 'application/json'],
  ['Cache-Control', 'no-store'],
  ['X-Content-Type-Options', 'nosniff'],
];

function openCall(pages: Pages, request: PageRequest): { route: ManageRoute; call: Call } {
  const { access } = pages;
  const caller = authenticateCaller(pages, request);
  const { route, params } = chooseMethod(findRoutes(MANAGE_ROUTES, request.path), request.method);
  admit(caller, route);
  const query = queryParameters(request.query, route.query ?? []);
  const body = route.members === null ? {} : readMembers(request, route.members);
  return { route, call: { access, pages, request, caller, params, body, query } };
}

/** Who asks, by the token; its use is noted after the answer. Throws `no_credentials` and `invalid_token`. */
function authenticateCaller({ access, background, report }: Pages, { headers }: PageRequest): Caller {
  const sent = credentialsOf(headers.authorization ?? null);
  if (sent === null) throw NO_TOKEN;
  const caller = readCaller(access, sent);
  if (caller === null) throw BAD_TOKEN;
  const onFault = (cause: unknown) => report('warn', 'The last use of a token could not be noted.', cause);
  runInBackground(background, () => noteUse(access, caller), onFault);
  return caller;
}

function readCaller(access: Access, sent: string): Caller | null {
  const platform = readPlatformToken(access.db, sent);
  if (platform !== null) return { kind: 'platform', token: platform };
  const person = readPersonToken(access, sent);
  return person === null ? null : { kind: 'person', token: person };
}

const NO_TOKEN = new AppError('no_credentials', 'A token is required, sent as "Authorization: Bearer <token>".');
const BAD_TOKEN = new AppError('invalid_token', 'This token is not valid.');

function noteUse(access: Access, { kind, token }: Caller): void {
  if (kind === 'person') notePersonTokenUse(access, token);
  else noteTokenUse(access.sessions, access.clock, token.identifier);
}

/** Throws `forbidden` where a route is for callers of another kind, and `insufficient_scope`. */
function admit(caller: Caller, { who }: ManageRoute): void {
  if (who === 'any') return;
  if (who === 'person') personTokenOf({ caller });
  else if (!platformTokenOf({ caller }).rights.includes(who.platform)) throw lackOfRight(who.platform);
}

function lackOfRight(right: string): AppError {
  return new AppError('insufficient_scope', `This token lacks the right ${right}.`, { scope: right });
}

/** The members of a body that is one JSON object. Throws `bad_body`, and what the thread that read the body has found. */
function readMembers({ body, bodyFault }: PageRequest, allowed: readonly string[]): Record<string, unknown> {
  if (bodyFault === 'not_json' || bodyFault === 'body_too_long') throw new AppError(bodyFault);
  const value = bodyFault === null ? parse(body ?? '') : undefined;
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new AppError('bad_body', 'The body must be one JSON object in UTF-8.');
  }
  if (Object.keys(value).some((name) => !allowed.includes(name))) {
    const rule = allowed.length === 0 ? 'may have no members' : `may have ${allowed.join(' and ')} only`;
    throw new AppError('bad_body', `The body ${rule}.`);
  }
  return value as Record<string, unknown>;
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
