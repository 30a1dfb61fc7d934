import { readBackendToken } from '../../shared/backends/backend-tokens.ts';
import { noteTokenUse } from '../../shared/backends/token-uses.ts';
import { onceUnlocked } from '../../shared/db/when-unlocked.ts';
import { AppError } from '../../shared/errors.ts';
import type { Access } from '../../shared/sessions-file/access.ts';
import { noteUse, readSignIn } from '../../shared/sign-ins/sign-ins.ts';
import { credentialsOf } from '../http/authenticate.ts';
import { ARRIVED_HEADERS, JSON_BODY, ROUTE_HEADER, readText, targetOf } from '../http/forwarded.ts';
import { queryParameters } from '../http/parameters.ts';
import { runInBackground } from '../thread/background.ts';
import type { Pages } from '../thread/pages.ts';
import {
  type Answered,
  type Call,
  type Caller,
  lackOfRight,
  type ManageRoute,
  personTokenOf,
  platformTokenOf,
} from './request-context.ts';
import { DOCUMENT_PATH, LOGIN_ROUTES } from './routes.ts';

// The checks that a request under /manage/v1 passes, in this order: the token, the path, the method, who asks, the
// parameters, the body. `login.ts` has those of the two paths that take no token.

/** How a request is logged that was refused before it was known what it asks for, or that asks for nothing there is. */
export const ANYTHING = '/manage/*';

/** What is known of a request on its way to its route. */
export type CallState = {
  readonly request: Request;
  readonly requestId: string;
  /** The path of its route, or {@link ANYTHING}. */
  readonly template: string;
  readonly params: Readonly<Record<string, string>>;
  /** Who asks, by the token, and what there is to work on; null until both are known. */
  admitted: { pages: Pages; caller: Caller } | null;
};

/** Begins to look at a request; `params` are the parts of its path as Elysia decodes them: null for what can't be decoded. */
export function openState(
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
 * Finds out who asks, by the token; its use is noted after the answer. Throws `no_credentials` and `invalid_token`, then
 * `unknown_path`. Does nothing for the paths that take no token.
 */
export function admitCaller(at: CallState, open: (request: Request) => Pages): void {
  if (WITHOUT_TOKEN.includes(at.template)) return;
  const pages = open(at.request);
  const { access, background, report } = pages;
  const sent = credentialsOf(at.request.headers.get('authorization'));
  if (sent === null) throw NO_TOKEN;
  const caller = readCaller(access, sent);
  if (caller === null) throw BAD_TOKEN;
  const onFault = (cause: unknown) => report('warn', 'The last use of a token could not be noted.', cause);
  runInBackground(background, () => onceUnlocked(access.sessions.sqlite, () => noteCall(access, caller)), onFault);
  if (at.template === ANYTHING) throw new AppError('unknown_path');
  at.admitted = { pages, caller };
}

function readCaller(access: Access, sent: string): Caller | null {
  const platform = readBackendToken(access.db, sent);
  if (platform !== null) return { kind: 'platform', token: platform };
  const person = readSignIn(access, 'profilectl', sent);
  return person === null ? null : { kind: 'person', token: person };
}

const NO_TOKEN = new AppError('no_credentials', 'A token is required, sent as "Authorization: Bearer <token>".');
const BAD_TOKEN = new AppError('invalid_token', 'This token is not valid.');

function noteCall(access: Access, { kind, token }: Caller): void {
  if (kind === 'person') noteUse(access, token);
  else noteTokenUse(access.sessions, access.clock, token.identifier);
}

/** Reads what the caller asks of a route. Throws `forbidden`, `insufficient_scope`, `bad_parameter` and refusals of the body. */
export async function readCall({ request, params, admitted }: CallState, route: ManageRoute): Promise<Call> {
  const { pages, caller } = admitted as NonNullable<typeof admitted>;
  admit(caller, route);
  const query = queryParameters(targetOf(request.url).query, route.query ?? []);
  const body = route.members === null ? {} : await readMembers(request, route.members);
  return { access: pages.access, pages, caller, params, body, query };
}

/** Throws `forbidden` where a route is for callers of another kind, and `insufficient_scope`. */
function admit(caller: Caller, { who }: ManageRoute): void {
  if (who === 'any') return;
  if (who === 'person') personTokenOf({ caller });
  else if (!platformTokenOf({ caller }).rights.includes(who.platform)) throw lackOfRight(who.platform);
}

/** The members of a body that is one JSON object. Throws `bad_body`, `not_json` and `body_too_long`. */
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

/** Makes the response of what a route did. One that is made already stays as it is. */
export function answerWith({ template }: Pick<CallState, 'template'>, answered: Answered | Response): Response {
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
