import { AppError } from '../../shared/errors.ts';
import { HSTS } from '../http/answers.ts';
import { checkArrival, finishExchange } from '../http/chain.ts';
import { blockOf } from '../http/client-address.ts';
import type { Exchange } from '../http/exchange.ts';
import type { PageAsker, Service } from '../process/service.ts';
import { type ReadBody, readBody } from './body.ts';
import { PASSED_HEADERS, type PageAnswer, type PageRequest } from './messages.ts';
import { refusePage } from './refusals.ts';

// What a thread that serves requests does for the pages under /developers: it takes the request in like any other, reads
// the form, and has the platform thread answer. It is loaded at the first request for a page.

/**
 * How many requests for pages may wait for their answer in this thread, and be under way from one address block. Each may
 * hold a form of 64 KiB.
 */
const MOST_OPEN = { all: 256, block: 32 } as const;

/** Answers a request for a page, logs it and counts it. Never throws. */
export async function answerPages(service: Service, exchange: Exchange): Promise<Response> {
  return sendAnswer(service, exchange, await answerOf(service, exchange));
}

/** Makes the response of an answer, logs it and counts it. */
export function sendAnswer(service: Service, exchange: Exchange, answer: PageAnswer): Response {
  const { requestId } = exchange;
  exchange.refusal = answer.refusal;
  if (answer.fault !== null) service.log.event('error', 'A request failed.', { requestId, cause: answer.fault });
  const headers = new Headers([...answer.headers, ['X-Request-Id', requestId]]);
  if (service.deps.config.tls !== null) headers.set('Strict-Transport-Security', HSTS);
  return finishExchange(
    service,
    answer.template,
    exchange,
    new Response(answer.body, { status: answer.status, headers }),
  );
}

async function answerOf(service: Service, exchange: Exchange): Promise<PageAnswer> {
  try {
    checkArrival(service, exchange);
    return await askInTurn(service, exchange, PASSED_HEADERS, (request) => readBody(request, service.pages.reading));
  } catch (error) {
    return refusePage(service.deps.config, error);
  }
}

/**
 * Has the platform thread answer a request with these of its headers and the body that `read` returns. Throws
 * `too_many_pages` where too many are under way.
 */
export async function askInTurn(
  { pages, transport }: Service,
  exchange: Exchange,
  passed: readonly string[],
  read: (request: Request) => ReadBody | Promise<ReadBody>,
): Promise<PageAnswer> {
  const block = blockOf(exchange.address);
  const ofBlock = pages.open.get(block) ?? 0;
  if (ofBlock >= MOST_OPEN.block) throw new AppError('too_many_pages');
  pages.open.set(block, ofBlock + 1);
  try {
    const { body, fault } = await read(exchange.request);
    return await askInAll(pages, pageRequestOf(exchange, passed, { body, fault }, transport.isProxy === null));
  } finally {
    const left = (pages.open.get(block) as number) - 1;
    if (left === 0) pages.open.delete(block);
    else pages.open.set(block, left);
  }
}

async function askInAll(pages: PageAsker, request: PageRequest): Promise<PageAnswer> {
  if (pages.count >= MOST_OPEN.all) throw new AppError('too_many_pages');
  pages.count++;
  try {
    return await pages.ask(request);
  } finally {
    pages.count--;
  }
}

function pageRequestOf(
  exchange: Exchange,
  passed: readonly string[],
  { body, fault }: ReadBody,
  hasNoProxies: boolean,
): PageRequest {
  const { method, path, query, address, requestId } = exchange;
  const headers = passed.flatMap((name) => {
    const value = exchange.headers.get(name);
    return value === null ? [] : [[name, value] as const];
  });
  return {
    method,
    path: path as string,
    query,
    headers: Object.fromEntries(headers),
    body,
    bodyFault: fault,
    address,
    isForwardedUnasked: hasNoProxies && exchange.headers.has('x-forwarded-for'),
    requestId,
  };
}
