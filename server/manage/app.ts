import { Elysia } from 'elysia';
import { z } from 'zod';
import { whenUnlocked } from '../../shared/db/write.ts';
import { AppError, isForOperator, refusalOf } from '../../shared/errors.ts';
import { handOver } from '../../shared/sign-in/hand-over.ts';
import { parseJson } from '../../shared/text.ts';
import { isTokenUseDue, noteTokenUse, readBackendToken } from '../../shared/tokens.ts';
import { runInBackground } from '../background.ts';
import { publicRefusal } from '../http/answers.ts';
import { JSON_BODY, readText } from '../http/body.ts';
import { queryOf, queryParameters } from '../http/parameters.ts';
import type { RequestState } from '../http/serving.ts';
import { checkTransport } from '../http/transport.ts';
import { credentialsOf } from '../http/with-key.ts';
import type { PortalServices } from '../portal/services.ts';
import { type Call, type ManageParts, prepareSending, requireRight } from './profiles.ts';

// The three routes of a backend under /manage/v1. A request passes its checks in this order: the token, the path, the method,
// the right, the parameters, the body.

/** The methods of each path. */
const METHODS: Record<string, string> = {
  '/manage/v1/me': 'GET, HEAD',
  '/manage/v1/sign-ins': 'POST',
  '/manage/v1/profiles': 'POST',
};

/** The refusals of requests without a valid token. */
const TOKEN_REFUSALS = {
  no_credentials: new AppError('no_credentials', 'A token is required, sent as "Authorization: Bearer <token>".'),
  invalid_token: new AppError('invalid_token', 'This token is not valid.'),
} as const;

// One sentence for all errors: zod would report those of the variant that the body fits best.
const error = 'Name the profile by uid (a whole number from 1) or by authId (a string), but not by both.';

/** The body of `POST /manage/v1/sign-ins`: whom the backend has signed in. */
const HAND_OVER = z.union(
  [
    z.strictObject({ uid: z.int({ error }).min(1, { error }) }, { error }),
    z.strictObject({ authId: z.string().min(1, { error }) }, { error }),
  ],
  { error },
);

/** Keeps Elysia from reading bodies: they are read once the caller may send them. */
const UNREAD = { parse: 'none' } as const;

/** The paths under `/manage`; the application that uses them has the request's `state`. */
export function manage(parts: ManageParts) {
  const { open, report, transport, countRefusedToken } = parts;
  const sendProfiles = prepareSending(parts);
  return new Elysia({ strictPath: true })
    .onError((context) => {
      const { error, set, state } = context as typeof context & { state: RequestState };
      // Otherwise Elysia copies the Response, which turns its body into a stream.
      set.status = 200;
      return refuseCall(
        report,
        charged(error, () => countRefusedToken(state.address)),
        state.requestId,
      );
    })
    .onBeforeHandle((context) => {
      const { request, path, state } = context as typeof context & { state: RequestState };
      checkTransport(transport, request, path, state);
    })
    .resolve(({ request }) => ({ call: admit(open(), request) }))
    .get('/manage/v1/me', ({ call }) => json(me(call)))
    .post('/manage/v1/sign-ins', async ({ call }) => json(await signIns(call)), UNREAD)
    .post('/manage/v1/profiles', async ({ call }) => json(await sendProfiles(call)), UNREAD)
    .all('/manage', ({ path }) => refuseMethod(path), UNREAD)
    .all('/manage/*', ({ path }) => refuseMethod(path), UNREAD);
}

/** Throws `method_not_allowed` for a path that there is, otherwise `unknown_path`. */
function refuseMethod(path: string): Response {
  const allow = METHODS[path];
  if (allow === undefined) throw new AppError('unknown_path');
  const sentence = `This path only supports ${allow.replace(', ', ' and ')}.`;
  throw new AppError('method_not_allowed', sentence, { allow });
}

/** Authenticates the caller, and records the use of the token afterwards. Throws `no_credentials` and `invalid_token`. */
function admit(services: PortalServices, request: Request): Call {
  const { access, background, report } = services;
  const sent = credentialsOf(request.headers.get('authorization'));
  if (sent === null) throw TOKEN_REFUSALS.no_credentials;
  const token = readBackendToken(access.db, sent);
  if (token === null) throw TOKEN_REFUSALS.invalid_token;
  if (isTokenUseDue(access.clock.nowMs(), token)) {
    const note = () => noteTokenUse(access, token);
    const onFault = (cause: unknown) => report('warn', 'The last use of a token could not be recorded.', cause);
    runInBackground(background, () => whenUnlocked(access.db.$client).then(note), onFault);
  }
  return { request, token, services };
}

/** Whose token this is, and what it allows. */
function me({ request, token }: Call): object {
  queryParameters(queryOf(request), []);
  const { identifier, name, rights, excludesContactFields } = token;
  return { kind: 'backend', name, token: identifier, rights, withoutAddress: excludesContactFields };
}

/**
 * Creates a URL to which the backend redirects a user whom it has signed in. Throws `bad_body` if the body does not name one
 * profile, and `not_found`.
 */
async function signIns(call: Call): Promise<object> {
  requireRight(call, 'sign-ins');
  queryParameters(queryOf(call.request), []);
  const read = HAND_OVER.safeParse(parseJson(await readText(call.request, JSON_BODY)));
  if (!read.success) throw new AppError('bad_body', read.error.issues[0]?.message ?? error);
  const { access } = call.services;
  await whenUnlocked(access.db.$client);
  return handOver(access, read.data, call.token.identifier);
}

const JSON_HEADERS = {
  'Content-Type': 'application/json',
  'Cache-Control': 'no-store',
  'X-Content-Type-Options': 'nosniff',
};

function json(body: object): Response {
  return new Response(JSON.stringify(body), { headers: JSON_HEADERS });
}

/** The error itself; for a refused token, that of `count` if the address has been refused too often. */
function charged(error: unknown, count: () => void): unknown {
  if (error !== TOKEN_REFUSALS.no_credentials && error !== TOKEN_REFUSALS.invalid_token) return error;
  try {
    count();
    return error;
  } catch (refusal) {
    return refusal;
  }
}

/** Creates the response to an error, as under /api, and logs the error if the server is at fault. Never throws. */
function refuseCall(report: PortalServices['report'], error: unknown, requestId: string): Response {
  const known = errorForCaller(error);
  const { code, status, body, headers = {} } = publicRefusal(known);
  if (refusalOf(code).isLogged && !known.details.isForClient) report('error', 'A request failed.', error, requestId);
  return new Response(JSON.stringify(body), { status, headers: { ...JSON_HEADERS, 'X-Error-Code': code, ...headers } });
}

/** Translates codes that are meant for `profilectl`; a `refused` about a file or a disk is for the operator only. */
function errorForCaller(error: unknown): AppError {
  if (!(error instanceof AppError)) return new AppError('internal', null, { cause: error });
  const { code, message, details } = error;
  if (code === 'try_later' || code === 'done_in_part') {
    return new AppError('busy', message, { ...details, isForClient: true });
  }
  if (code !== 'usage' && code !== 'refused') return error;
  if (isForOperator(error)) return new AppError('internal', null, { cause: error });
  return new AppError(code === 'usage' ? 'bad_body' : 'not_possible', message);
}
