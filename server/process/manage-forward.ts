import { AppError } from '../../shared/errors.ts';
import { blockOf } from '../http/client-address.ts';
import type { RequestState } from '../http/request-state.ts';
import { countFailure } from '../http/throttle.ts';
import { FEED_PATH } from '../manage/operations/profiles.ts';
import { refuseCall } from '../manage/refusals.ts';
import { reportTo } from '../observability/log.ts';
import type { Service } from './service.ts';

// What a serving thread does for /manage: it accepts backends' profiles, has the portal answer everything else, and counts
// failed logins together with those under /api. Loaded with the first such request.

/** Answers a request under `/manage`. Never throws. */
export async function answerManage(
  service: Service,
  request: Request,
  path: string,
  state: RequestState,
): Promise<Response> {
  const answer =
    path === FEED_PATH
      ? await (await import('./feed/feed.ts')).answerFeed(service, request, state)
      : await service.bridge.fetch(request, state);
  const refusal = answer.headers.get('x-error-code');
  if (refusal !== 'no_credentials' && refusal !== 'invalid_token') return answer;
  return refuseFailure(service, state) ?? answer;
}

/** Counts a failed login of the address; returns the refusal to answer instead if there have been too many. */
function refuseFailure({ throttle, log }: Service, { address }: RequestState): Response | null {
  try {
    countFailure(throttle, blockOf(address));
    return null;
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    return refuseCall(reportTo(log), error);
  }
}
