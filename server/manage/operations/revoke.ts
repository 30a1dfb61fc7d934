import { z } from 'zod';
import { AppError } from '../../../shared/errors.ts';
import { CLI_CLIENT_ID } from '../../../shared/sign-in/cli-client.ts';
import { endLoginByToken } from '../../../shared/sign-ins/sign-ins.ts';
import { readTokenText } from '../../../shared/sign-ins/token-text.ts';
import type { LoginCall } from '../login.ts';
import type { JsonAnswer } from '../request-context.ts';

/** The form of `POST /manage/v1/revoke`. */
export const REVOKE_FORM = z.object({
  token: z.string(),
  client_id: z.literal(CLI_CLIENT_ID),
  token_type_hint: z.string().optional(),
});

/**
 * `POST /manage/v1/revoke`: revokes a personal token (RFC 7009), with the same answer if it is unknown or no longer valid.
 * Throws `unsupported_token_type` for a backend's token, which stays valid.
 */
export function revoke({ services: { access }, form: { token: sent } }: LoginCall<typeof REVOKE_FORM>): JsonAnswer {
  if (readTokenText(sent)?.prefix === 'plp') {
    const sentence = "A backend's token can only be removed on the server, with profilectl tokens remove.";
    throw new AppError('unsupported_token_type', sentence);
  }
  endLoginByToken(access, sent);
  return { body: {} };
}
