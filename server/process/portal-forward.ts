import type { ErrorCode } from '../../shared/errors.ts';
import { HSTS } from '../http/answers.ts';
import { checkArrival, finishExchange } from '../http/chain.ts';
import type { Exchange } from '../http/exchange.ts';
import { ROUTE_HEADER } from '../http/forwarded.ts';
import { reportTo } from '../observability/log.ts';
import type { Service } from './service.ts';

/** Has the portal answer a request under `/developers`, logs it and counts it. Never throws. */
export async function forwardToPortal(
  service: Service,
  exchange: Exchange,
  answer: (service: Service, exchange: Exchange) => Promise<Response> = ask,
): Promise<Response> {
  const made = (await refuseArrivalOf(service, exchange)) ?? (await answer(service, exchange));
  const { headers } = made;
  exchange.refusal = headers.get('x-error-code') as ErrorCode | null;
  const route = headers.get(ROUTE_HEADER);
  headers.delete(ROUTE_HEADER);
  headers.set('X-Request-Id', exchange.requestId);
  if (service.deps.config.tls !== null) headers.set('Strict-Transport-Security', HSTS);
  return finishExchange(service, route, exchange, made);
}

function ask({ portal }: Service, exchange: Exchange): Promise<Response> {
  return portal.fetch(exchange.request, exchange);
}

/** The refusal of a request that no route may answer; null for every other one. */
async function refuseArrivalOf(service: Service, exchange: Exchange): Promise<Response | null> {
  try {
    checkArrival(service, exchange);
    return null;
  } catch (error) {
    const { refuseArrival } = await import('../portal/unanswered.ts');
    return refuseArrival(service.deps.config, reportTo(service.log), exchange.path ?? '', error);
  }
}
