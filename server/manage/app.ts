import { Elysia } from 'elysia';
import { z } from 'zod';
import { whenUnlocked } from '../../shared/db/write.ts';
import { AppError } from '../../shared/errors.ts';
import { handOver } from '../../shared/sign-in/hand-over.ts';
import { parseJson } from '../../shared/text.ts';
import { countFailure } from '../../shared/throttle.ts';
import { INVALID_TOKEN, isTokenUseDue, noteTokenUse, readBackendToken } from '../../shared/tokens.ts';
import { runInBackground } from '../background.ts';
import { JSON_BODY, readText } from '../http/body.ts';
import { transport } from '../http/every-request.ts';
import { refuseRest } from '../http/other-requests.ts';
import { queryOf, queryParameters } from '../http/parameters.ts';
import { blockOf } from '../http/transport.ts';
import { credentialsOf } from '../http/with-key.ts';
import type { RequestState, Service } from '../service.ts';
import { type Call, prepareSending, requireRight } from './profiles.ts';

// The three routes of a backend under /manage/v1. A request passes its checks in this order: the token, the path, the method,
// the right, the parameters, the body.

/** The refusals of requests without a valid token. */
const TOKEN_REFUSALS = {
  no_credentials: new AppError('no_credentials', 'A token is required, sent as "Authorization: Bearer <token>".'),
  invalid_token: INVALID_TOKEN,
} as const;

// One sentence for all errors: zod would report the errors of whichever variant fits the body best.
const error = 'Name the profile by uid (a whole number from 1) or by authId (a string), but not by both.';

/** The body of `POST /manage/v1/sign-ins`: whom the backend has signed in. */
const HAND_OVER = z.union(
  [
    z.strictObject({ uid: z.int({ error }).min(1, { error }) }, { error }),
    z.strictObject({ authId: z.string().min(1, { error }) }, { error }),
  ],
  { error },
);

/** Keeps Elysia from reading bodies: they are read only once the caller's right to send them has been checked. */
const UNREAD = { parse: 'none' } as const;

/** The paths under `/manage`, where a refused token counts as a failed login, as it does under `/api`. */
export function manage(service: Service) {
  const sendProfiles = prepareSending();
  const app = new Elysia({ name: 'manage' })
    .use(transport(service))
    .resolve(({ request, state }) => ({ call: admit(service, request, state) }))
    .get('/manage/v1/me', ({ call }) => ({ body: JSON.stringify(me(call)) }))
    .post('/manage/v1/sign-ins', async ({ call }) => ({ body: JSON.stringify(await signIns(call)) }), UNREAD)
    .post('/manage/v1/profiles', async ({ call }) => ({ body: JSON.stringify(await sendProfiles(call)) }), UNREAD);
  const refuse = refuseRest([...app.routes]);
  return app.all('/manage', refuse, UNREAD).all('/manage/*', refuse, UNREAD);
}

/** Authenticates the caller, and records the use of the token afterwards. Throws `no_credentials` and `invalid_token`. */
function admit(service: Service, request: Request, { address }: RequestState): Call {
  const { deps, throttle, background, log } = service;
  const sent = credentialsOf(request.headers.get('authorization'));
  const token = sent === null ? null : readBackendToken(deps.db, sent);
  if (token === null) {
    countFailure(throttle, blockOf(address));
    throw TOKEN_REFUSALS[sent === null ? 'no_credentials' : 'invalid_token'];
  }
  if (isTokenUseDue(deps.clock.nowMs(), token)) {
    const note = () => noteTokenUse(deps, token);
    const onFault = (cause: unknown) => log.event('warn', 'The last use of a token could not be recorded.', { cause });
    runInBackground(background, () => whenUnlocked(deps.db.$client, note), onFault);
  }
  return { request, token, service };
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
  const { deps } = call.service;
  return whenUnlocked(deps.db.$client, () => handOver(deps, read.data, call.token.identifier));
}
