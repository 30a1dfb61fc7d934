import { AppError, isForOperator, refusalOf } from '../../shared/errors.ts';
import { publicRefusal } from '../http/errors.ts';
import { ROUTE_HEADER } from '../thread/forwarded.ts';
import type { PortalServices } from '../thread/portal-services.ts';
import { JSON_HEADERS } from './call-checks.ts';
import { ANYTHING, type ArrivedCall } from './request-context.ts';

/**
 * Creates the response to an error, and logs the error if the server is at fault: `{"error":"<sentence>"}` with the code in
 * X-Error-Code, as under /api. Never throws.
 */
export function refuseCall(
  report: PortalServices['report'],
  error: unknown,
  at?: Pick<ArrivedCall, 'template' | 'requestId'>,
): Response {
  const known = errorForCaller(error);
  const { code, status, body, headers = {} } = publicRefusal(known);
  if (refusalOf(code).isLogged && !known.details.isForClient) {
    report('error', 'A request failed.', error, at?.requestId ?? '');
  }
  return new Response(JSON.stringify(body), {
    status,
    headers: { ...JSON_HEADERS, 'X-Error-Code': code, ...headers, [ROUTE_HEADER]: at?.template ?? ANYTHING },
  });
}

/**
 * The error that clients receive. Codes meant for `profilectl` on the server are translated; a `refused` about a file or a disk
 * is for the operator only.
 */
function errorForCaller(error: unknown): AppError {
  if (!(error instanceof AppError)) return new AppError('internal', null, { cause: error });
  const { code, message, details } = error;
  if (code === 'signed_out') return new AppError('invalid_token', message);
  if (code === 'try_later') return new AppError('busy', message, { ...details, isForClient: true });
  if (code !== 'usage' && code !== 'refused') return error;
  if (isForOperator(error)) return new AppError('internal', null, { cause: error });
  return new AppError(code === 'usage' ? 'bad_body' : 'not_possible', message);
}
