import { AppError } from '../../shared/errors.ts';
import type { FeedOrder } from '../../shared/profiles/write/feed.ts';
import { type BodyKind, FORM, readBody } from '../developers/body.ts';
import { askInTurn, sendAnswer } from '../developers/door.ts';
import type { PageAnswer } from '../developers/messages.ts';
import { checkArrival } from '../http/chain.ts';
import { blockOf } from '../http/client-address.ts';
import type { Exchange } from '../http/exchange.ts';
import { countFailure } from '../http/throttle.ts';
import type { Service } from '../process/service.ts';
import { FEED_PATH } from './operations/profiles.ts';
import { refuseCall } from './refusals.ts';
import { DOCUMENT_PATH, LOGIN_ROUTES } from './routes.ts';

// What a thread that serves requests does for /manage/v1: it takes the request in like any other, reads its JSON, has the
// platform thread answer, and counts failed log-ins together with those under /api. It is loaded at the first such request.

/** Answers a request under `/manage`, logs it and counts it. Never throws. */
export async function answerManage(service: Service, exchange: Exchange): Promise<Response> {
  return sendAnswer(service, exchange, await answerOf(service, exchange));
}

async function answerOf(service: Service, exchange: Exchange): Promise<PageAnswer> {
  try {
    checkArrival(service, exchange);
    if (exchange.path === DOCUMENT_PATH) {
      const { answerDocument } = await import('./served.ts');
      return answerDocument(service.deps.config, exchange.method);
    }
    const kind = LOGIN_ROUTES.some(({ path }) => path === exchange.path) ? FORM : JSON_BODY;
    // Lines are not read before the token is known.
    const read = (request: Request) =>
      exchange.path === FEED_PATH ? { body: null, fault: null } : readBody(request, service.pages.reading, kind);
    const answer = await askInTurn(service, exchange, ['authorization'], read);
    if (answer.feed !== undefined) return await takeFeed(service, exchange, answer.feed);
    if (answer.refusal !== 'no_credentials' && answer.refusal !== 'invalid_token') return answer;
    return refuseFailure(service, exchange) ?? answer;
  } catch (error) {
    return refuseCall(error);
  }
}

async function takeFeed(service: Service, exchange: Exchange, order: FeedOrder): Promise<PageAnswer> {
  const { takeLines } = await import('./feed.ts');
  try {
    return await takeLines(service, exchange, order);
  } catch (error) {
    return refuseCall(error, FEED_PATH);
  }
}

const JSON_BODY: BodyKind = {
  methods: ['POST', 'PATCH'],
  type: /^application\/json\s*(;\s*charset="?utf-8"?\s*)?$/i,
  other: 'not_json',
  tooLong: 'body_too_long',
  malformed: 'bad_body',
};

/** Counts a failed log-in of the address; returns another refusal where it had none left. */
function refuseFailure({ throttle }: Service, { address }: Exchange): PageAnswer | null {
  try {
    countFailure(throttle, blockOf(address));
    return null;
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    const sentence = 'Too many requests without a valid token came from this address.';
    return refuseCall(new AppError('too_many_failures', sentence, error.details));
  }
}
