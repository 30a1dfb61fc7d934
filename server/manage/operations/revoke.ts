import { AppError } from '../../../shared/errors.ts';
import { endShownLogin } from '../../../shared/sign-ins/sign-ins.ts';
import { readTokenText } from '../../../shared/sign-ins/token-text.ts';
import { type LoginCall, parameter } from '../login.ts';
import type { Answered } from '../request-context.ts';

/**
 * `POST /manage/v1/revoke`: ends a person's token (RFC 7009). An unknown one, or one that has ended, is answered in the same way.
 * Throws `invalid_request`, and `unsupported_token_type` for a platform's token, which goes on.
 */
export function revoke({ pages: { access }, parameters }: LoginCall): Answered {
  const sent = parameter(parameters, 'token');
  if (readTokenText(sent)?.prefix === 'plp') {
    const sentence = 'The token of a platform is ended by its operator, with profilectl tokens remove.';
    throw new AppError('unsupported_token_type', sentence);
  }
  endShownLogin(access, sent);
  return { body: {} };
}
