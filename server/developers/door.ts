import type { ErrorCode } from '../../shared/errors.ts';
import { HSTS } from '../http/answers.ts';
import { checkArrival, finishExchange } from '../http/chain.ts';
import type { Exchange } from '../http/exchange.ts';
import { ROUTE_HEADER } from '../process/portal-bridge.ts';
import type { Service } from '../process/service.ts';
import { refusePage } from './refusals.ts';

// What a thread that serves requests does for the pages under /developers: it takes the request in like any other, and has the
// portal's thread answer. It is loaded at the first request for a page.

/** Answers a request for a page, logs it and counts it. Never throws. */
export async function answerPages(service: Service, exchange: Exchange): Promise<Response> {
  try {
    checkArrival(service, exchange);
  } catch (error) {
    const { status, headers, body } = refusePage(service.deps.config, error);
    return sendAnswer(service, exchange, new Response(body, { status, headers }));
  }
  return sendAnswer(service, exchange, await service.portal.fetch(exchange.request, exchange));
}

/** Completes the answer of the portal, logs it and counts it. */
export function sendAnswer(service: Service, exchange: Exchange, answer: Response): Response {
  const { headers } = answer;
  exchange.refusal = headers.get('x-error-code') as ErrorCode | null;
  const route = headers.get(ROUTE_HEADER) ?? '/developers/*';
  headers.delete(ROUTE_HEADER);
  headers.set('X-Request-Id', exchange.requestId);
  if (service.deps.config.tls !== null) headers.set('Strict-Transport-Security', HSTS);
  return finishExchange(service, route, exchange, answer);
}
