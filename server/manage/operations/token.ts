import { AppError } from '../../../shared/errors.ts';
import { exchangeCliCode } from '../../../shared/sign-in/cli-codes.ts';
import { runInBackground } from '../../thread/background.ts';
import { notifyOfSignIns } from '../../thread/sign-in-notices.ts';
import { type LoginCall, parameter } from '../login.ts';
import type { JsonAnswer } from '../request-context.ts';

/** The syntax of a code verifier (RFC 7636, section 4.1). */
const VERIFIER = /^[A-Za-z0-9\-._~]{43,128}$/;

/**
 * `POST /manage/v1/token`: exchanges a code of the page /developers/cli for a personal token (RFC 6749, section 4.1.3, and
 * RFC 7636, section 4.5). Throws `unsupported_grant_type`, `invalid_request` and `invalid_grant`.
 */
export function token({ pages, client, parameters }: LoginCall): JsonAnswer {
  const { access, background, report } = pages;
  if (parameter(parameters, 'grant_type') !== 'authorization_code') {
    throw new AppError('unsupported_grant_type', 'The only grant_type here is authorization_code.');
  }
  const code = parameter(parameters, 'code');
  const verifier = parameter(parameters, 'code_verifier');
  if (!VERIFIER.test(verifier)) {
    throw new AppError('invalid_request', 'The code_verifier must have 43 to 128 letters, digits and any of -._~.');
  }
  const made = exchangeCliCode(access, { code, redirectUri: parameters.get('redirect_uri') ?? null, verifier }, client);
  const onFault = (cause: unknown) => report('error', 'A mail about a login of profilectl could not be stored.', cause);
  runInBackground(background, (signal) => notifyOfSignIns(pages, signal), onFault);
  const seconds = Math.round((made.signIn.endsAtMs - access.clock.nowMs()) / 1000);
  return {
    headers: { Pragma: 'no-cache' },
    body: { access_token: made.token, token_type: 'Bearer', expires_in: seconds },
  };
}
