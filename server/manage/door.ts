import { AppError, type ErrorCode } from '../../shared/errors.ts';
import type { FeedOrder } from '../../shared/profiles/write/feed.ts';
import { sendAnswer } from '../developers/door.ts';
import type { PageAnswer } from '../developers/messages.ts';
import { checkArrival } from '../http/chain.ts';
import { blockOf } from '../http/client-address.ts';
import type { Exchange } from '../http/exchange.ts';
import { countFailure } from '../http/throttle.ts';
import { ROUTE_HEADER } from '../process/portal-bridge.ts';
import type { Service } from '../process/service.ts';
import { FEED_PATH } from './operations/profiles.ts';
import { refuseCall } from './refusals.ts';
import { DOCUMENT_PATH } from './routes.ts';

// What a thread that serves requests does for /manage/v1: it takes the request in like any other, has the portal's thread
// answer, and counts failed log-ins together with those under /api. It is loaded at the first such request.

/** Answers a request under `/manage`, logs it and counts it. Never throws. */
export async function answerManage(service: Service, exchange: Exchange): Promise<Response> {
  return sendAnswer(service, exchange, await answerOf(service, exchange));
}

async function answerOf(service: Service, exchange: Exchange): Promise<Response> {
  const { request, path } = exchange;
  try {
    checkArrival(service, exchange);
    if (path === DOCUMENT_PATH) {
      const { answerDocument } = await import('./served.ts');
      return responseOf(answerDocument(service.deps.config, exchange.method));
    }
    // Lines are not read before the token is known.
    const { method, headers } = request;
    const asked = path === FEED_PATH ? new Request(request.url, { method, headers }) : request;
    const answer = await service.portal.fetch(asked, exchange);
    if (answer.headers.has('x-feed'))
      return responseOf(await takeFeed(service, exchange, (await answer.json()) as FeedOrder));
    const refusal = answer.headers.get('x-error-code') as ErrorCode | null;
    if (refusal !== 'no_credentials' && refusal !== 'invalid_token') return answer;
    return refuseFailure(service, exchange) ?? answer;
  } catch (error) {
    return responseOf(refuseCall(error));
  }
}

function responseOf({ status, headers, body, template }: PageAnswer): Response {
  return new Response(body, { status, headers: [...headers, [ROUTE_HEADER, template]] });
}

async function takeFeed(service: Service, exchange: Exchange, order: FeedOrder): Promise<PageAnswer> {
  const { takeLines } = await import('./feed.ts');
  try {
    return await takeLines(service, exchange, order);
  } catch (error) {
    return refuseCall(error, FEED_PATH);
  }
}

/** Counts a failed log-in of the address; returns another refusal where it had none left. */
function refuseFailure({ throttle }: Service, { address }: Exchange): Response | null {
  try {
    countFailure(throttle, blockOf(address));
    return null;
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    const sentence = 'Too many requests without a valid token came from this address.';
    return responseOf(refuseCall(new AppError('too_many_failures', sentence, error.details)));
  }
}
