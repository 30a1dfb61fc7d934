import { AppError } from '../../../shared/errors.ts';
import { endShownLogin } from '../../../shared/sign-ins/sign-ins.ts';
import { readTokenText } from '../../../shared/sign-ins/token-text.ts';
import { type LoginCall, parameter } from '../login.ts';
import type { JsonAnswer } from '../request-context.ts';

/**
 * `POST /manage/v1/revoke`: revokes a personal token (RFC 7009). The answer is the same if it is unknown or has ended. Throws
 * `invalid_request`, and `unsupported_token_type` for a backend's token, which stays valid.
 */
export function revoke({ pages: { access }, parameters }: LoginCall): JsonAnswer {
  const sent = parameter(parameters, 'token');
  if (readTokenText(sent)?.prefix === 'plp') {
    const sentence = "A backend's token can only be removed on the server, with profilectl tokens remove.";
    throw new AppError('unsupported_token_type', sentence);
  }
  endShownLogin(access, sent);
  return { body: {} };
}
