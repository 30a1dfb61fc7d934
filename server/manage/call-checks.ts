import { readBackendToken } from '../../shared/backends/backend-tokens.ts';
import { noteTokenUse } from '../../shared/backends/token-uses.ts';
import { onceUnlocked } from '../../shared/db/when-unlocked.ts';
import { AppError } from '../../shared/errors.ts';
import type { Access } from '../../shared/sessions-file/access.ts';
import { noteUse, readSignIn } from '../../shared/sign-ins/sign-ins.ts';
import { credentialsOf } from '../http/authenticate.ts';
import { queryParameters } from '../http/parameters.ts';
import { runInBackground } from '../thread/background.ts';
import { ARRIVED_HEADERS, JSON_BODY, ROUTE_HEADER, readText, targetOf } from '../thread/forwarded.ts';
import type { Pages } from '../thread/pages.ts';
import {
  backendTokenOf,
  type Call,
  type Caller,
  type JsonAnswer,
  lackOfRight,
  type ManageRoute,
  personTokenOf,
} from './request-context.ts';
import { DOCUMENT_PATH, LOGIN_ROUTES } from './routes.ts';

// The checks of a request under /manage/v1, in this order: the token, the path, the method, the caller's rights, the
// parameters, the body. `login.ts` has those of the two paths that need no token.

/** The route in the log of requests that match no route, or were refused before their route was known. */
export const ANYTHING = '/manage/*';

/** State shared by the checks of a request and the code that answers it. */
export type CallState = {
  readonly request: Request;
  readonly requestId: string;
  /** The path of its route, or {@link ANYTHING}. */
  readonly template: string;
  readonly params: Readonly<Record<string, string>>;
  /** The caller, and what requests work with; null until the token is verified. */
  admitted: { pages: Pages; caller: Caller } | null;
};

/** Makes the state of a request; `params` are the parameters of its path as decoded by Elysia, null if malformed. */
export function openCall(
  request: Request,
  template: string,
  params: Readonly<Record<string, string | null>> = {},
): CallState {
  const isWhole =
    template.startsWith('/manage/') && !template.endsWith('*') && Object.values(params).every((part) => part);
  return {
    request,
    requestId: request.headers.get(ARRIVED_HEADERS.requestId) ?? '',
    template: isWhole ? template : ANYTHING,
    params: params as Record<string, string>,
    admitted: null,
  };
}

const WITHOUT_TOKEN: readonly string[] = [DOCUMENT_PATH, ...LOGIN_ROUTES.map(({ path }) => path)];

/**
 * Authenticates the caller by the token, whose use is recorded after the answer. Throws `no_credentials` and `invalid_token`,
 * then `unknown_path`. Does nothing for the paths that need no token.
 */
export function admitCaller(at: CallState, open: (request: Request) => Pages): void {
  if (WITHOUT_TOKEN.includes(at.template)) return;
  const pages = open(at.request);
  const { access, background, report } = pages;
  const sent = credentialsOf(at.request.headers.get('authorization'));
  if (sent === null) throw NO_TOKEN;
  const caller = readCaller(access, sent);
  if (caller === null) throw BAD_TOKEN;
  const onFault = (cause: unknown) => report('warn', 'The last use of a token could not be recorded.', cause);
  runInBackground(background, () => onceUnlocked(access.sessions.sqlite, () => noteCall(access, caller)), onFault);
  if (at.template === ANYTHING) throw new AppError('unknown_path');
  at.admitted = { pages, caller };
}

function readCaller(access: Access, sent: string): Caller | null {
  const backend = readBackendToken(access.db, sent);
  if (backend !== null) return { kind: 'backend', token: backend };
  const person = readSignIn(access, 'profilectl', sent);
  return person === null ? null : { kind: 'person', token: person };
}

const NO_TOKEN = new AppError('no_credentials', 'A token is required, sent as "Authorization: Bearer <token>".');
const BAD_TOKEN = new AppError('invalid_token', 'This token is not valid.');

function noteCall(access: Access, { kind, token }: Caller): void {
  if (kind === 'person') noteUse(access, token);
  else noteTokenUse(access.sessions, access.clock, token.identifier);
}

/** Authorises the caller and reads the input. Throws `forbidden`, `insufficient_scope`, `bad_parameter`, refusals of bodies. */
export async function readCall({ request, params, admitted }: CallState, route: ManageRoute): Promise<Call> {
  const { pages, caller } = admitted as NonNullable<typeof admitted>;
  authorise(caller, route);
  const query = queryParameters(targetOf(request.url).query, route.query ?? []);
  const body = route.members === null ? {} : await readMembers(request, route.members);
  return { access: pages.access, pages, caller, params, body, query };
}

/** Throws `forbidden` if the route is for callers of another kind, `insufficient_scope` if the token lacks its right. */
function authorise(caller: Caller, { who }: ManageRoute): void {
  if (who === 'any') return;
  if (who === 'person') personTokenOf({ caller });
  else if (!backendTokenOf({ caller }).rights.includes(who.backend)) throw lackOfRight(who.backend);
}

/** Reads a body that must be one JSON object with allowed members. Throws `bad_body`, `not_json` and `body_too_long`. */
async function readMembers(request: Request, allowed: readonly string[]): Promise<Record<string, unknown>> {
  const value = parse(await readText(request, JSON_BODY));
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw JSON_BODY.malformed;
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

/** Makes the response of a route's answer; returns one that is a response already. */
export function answerJson({ template }: Pick<CallState, 'template'>, answered: JsonAnswer | Response): Response {
  if (answered instanceof Response) return answered;
  const { status = 200, headers = {}, body } = answered;
  return new Response(JSON.stringify(body), {
    status,
    headers: { ...JSON_HEADERS, ...headers, [ROUTE_HEADER]: template },
  });
}

/** The headers of every answer. */
export const JSON_HEADERS = {
  'Content-Type': 'application/json',
  'Cache-Control': 'no-store',
  'X-Content-Type-Options': 'nosniff',
} as const;
