import { AppError, type ErrorCode, isForOperator, refusalOf } from '../../shared/errors.ts';
import type { PageAnswer } from '../developers/messages.ts';
import { shownOf } from '../http/refusals.ts';
import { describeFault } from '../observability/log.ts';

/** How a request is logged that was refused before it was known what it asks for, or that asks for nothing there is. */
export const ANYTHING = '/manage/*';

/** What is refused in the words of RFC 6749, section 5.2, and RFC 7009: the code as `error`, the sentence beside it. */
export const OAUTH_CODES = [
  'invalid_request',
  'invalid_client',
  'invalid_grant',
  'unsupported_grant_type',
  'unsupported_token_type',
] as const satisfies readonly ErrorCode[];

/**
 * Makes the answer to an error: `{"error":"<sentence>"}` with the code in X-Error-Code, as under /api; `{"error":"<code>",
 * "error_description":"<sentence>"}` for {@link OAUTH_CODES}. Never throws.
 */
export function refuseCall(error: unknown, template: string = ANYTHING): PageAnswer {
  const known = shownAs(error);
  const { code, status, body, headers = {} } = shownOf(known);
  const isFault = refusalOf(code).isLogged && !known.details.isForClient;
  return {
    status,
    headers: [
      ['Content-Type', 'application/json'],
      ['Cache-Control', 'no-store'],
      ['X-Content-Type-Options', 'nosniff'],
      ['X-Error-Code', code],
      ...Object.entries(headers),
    ],
    body: JSON.stringify(bodyOf(known, body.error)),
    template,
    refusal: code,
    fault: isFault ? describeFault(error) : null,
  };
}

function bodyOf({ code, details: { address } }: AppError, sentence: string): object {
  if ((OAUTH_CODES as readonly ErrorCode[]).includes(code)) return { error: code, error_description: sentence };
  return { error: sentence, ...(address !== undefined && { address }) };
}

/**
 * What an error is for clients that only `profilectl` on the box meets as it is. A `refused` that tells of a file or a disk is
 * for the operator only.
 */
function shownAs(error: unknown): AppError {
  if (!(error instanceof AppError)) return new AppError('internal', null, { cause: error });
  const { code, message, details } = error;
  if (code === 'signed_out') return new AppError('invalid_token', message);
  if (code === 'try_later') return new AppError('busy', message, { ...details, isForClient: true });
  if (code !== 'usage' && code !== 'refused') return error;
  if (isForOperator(error)) return new AppError('internal', null, { cause: error });
  return new AppError(code === 'usage' ? 'bad_body' : 'not_possible', message);
}
