import { z } from 'zod';
import { CLI_CLIENT_ID } from '../../../shared/sign-in/cli-client.ts';
import { exchangeCliCode } from '../../../shared/sign-in/cli-codes.ts';
import { runInBackground } from '../../thread/background.ts';
import { notifyOfSignIns } from '../../thread/sign-in-notices.ts';
import type { LoginCall } from '../login.ts';
import type { JsonAnswer } from '../request-context.ts';

/** The form of `POST /manage/v1/token`. RFC 7636, section 4.1, defines the syntax of the verifier. */
export const TOKEN_FORM = z.object({
  grant_type: z.literal('authorization_code', { error: 'The only supported grant_type is authorization_code.' }),
  client_id: z.literal(CLI_CLIENT_ID),
  code: z.string(),
  code_verifier: z.string().regex(/^[A-Za-z0-9._~-]{43,128}$/, {
    error: 'The code_verifier must have 43 to 128 characters: letters, digits, and any of -._~.',
  }),
  redirect_uri: z.string().describe('The one that was sent to `/developers/cli`, if any.').optional(),
});

/**
 * `POST /manage/v1/token`: exchanges a code from /developers/cli for a personal token (RFC 6749, section 4.1.3, and RFC 7636,
 * section 4.5). Throws `invalid_grant`.
 */
export function token({ services, client, form }: LoginCall<typeof TOKEN_FORM>): JsonAnswer {
  const { access, background, report } = services;
  const { code, code_verifier: verifier, redirect_uri: redirectUri = null } = form;
  const made = exchangeCliCode(access, { code, redirectUri, verifier }, client);
  const onFault = (cause: unknown) => report('error', 'A mail about a login of profilectl could not be stored.', cause);
  runInBackground(background, (signal) => notifyOfSignIns(services, signal), onFault);
  const seconds = Math.round((made.signIn.endsAtMs - access.clock.nowMs()) / 1000);
  return {
    headers: { Pragma: 'no-cache' },
    body: { access_token: made.token, token_type: 'Bearer', expires_in: seconds },
  };
}
