import { refuse } from '../http/errors.ts';
import type { Serving } from '../http/serving.ts';

/**
 * Answers a request for which the application itself threw, which should never happen. The request is unknown here, so the
 * response and the log have a new id.
 */
export function refuseUncaught(
  { nextRequestId, refusals, log }: Pick<Serving, 'nextRequestId' | 'refusals' | 'log'>,
  error: unknown,
): Response {
  const requestId = nextRequestId();
  const { response } = refuse(refusals, error, null);
  response.headers.set('X-Request-Id', requestId);
  log.event('error', 'A request failed.', { requestId, cause: error });
  return response;
}
