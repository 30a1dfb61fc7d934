import type { AppError } from '../../shared/errors.ts';
import { etagOf } from '../../shared/etag.ts';
import type { Body } from '../../shared/profiles/lookup/body.ts';
import { type Collector, collectAfterLargeText } from '../observability/collector.ts';
import { acceptsGzip, matches } from './conditional.ts';
import { rateLimit, rateLimitPolicy } from './quota.ts';
import type { RequestState } from './request-state.ts';
import { bufferedBody, type SendBuffers } from './send-buffer-limit.ts';

/**
 * What a route returns: the body of a 200, or an empty body and a Location; and the headers that only this answer has. `etag`
 * is the body's entity tag, if already known.
 */
export type Answer = {
  readonly body: string | Body;
  readonly etag?: string;
  readonly headers?: Record<string, string> | undefined;
  readonly status?: 302;
};

/**
 * A document or page that is made once and sent to everybody. The bodies are Blobs, whose bytes all responses share, so that
 * slow clients don't hold copies.
 */
export type KeptAnswer = {
  readonly body: Blob;
  readonly etag: string;
  readonly headers: Record<string, string>;
  readonly status?: undefined;
  /** The body for clients that accept gzip, with a tag of its own (RFC 9110, section 8.8.3.3). */
  readonly gzip: { body: Blob; etag: string };
};

/** What a route returns instead of throwing for frequent refusals: a throw costs half as much as a whole lookup. */
export type Refusal = { readonly thrown: AppError };

/** The shared options of all responses of a kind. */
type Init = { readonly status: number; readonly headers: Headers };

/** What making responses depends on. */
export type Sending = { readonly answers: Answers; readonly sendBuffers: SendBuffers; readonly collector: Collector };

/** The options of responses to requests with a key, and the headers of every answer. */
export type Answers = { readonly always: Record<string, string>; readonly found: Init; readonly unchanged: Init };

/** Strict-Transport-Security (RFC 6797) for two years, as browsers' preload lists recommend. */
export const HSTS = 'max-age=63072000';

/** The headers of every answer, including refusals; `isSecure` if the server itself speaks TLS. */
export function serverHeaders(isSecure: boolean): Record<string, string> {
  return { 'X-Content-Type-Options': 'nosniff', ...(isSecure && { 'Strict-Transport-Security': HSTS }) };
}

/** Sets the headers that depend on the request: its id and, if it has a valid key, the RateLimit headers. */
export function stamp(headers: Headers, { requestId, quota }: RequestState): void {
  headers.set('X-Request-Id', requestId);
  if (quota === null) return;
  // Answers share their headers, and consecutive ones are mostly for the same key: comparing is cheaper than setting.
  const policy = rateLimitPolicy(quota);
  if (headers.get('RateLimit-Policy') !== policy) headers.set('RateLimit-Policy', policy);
  headers.set('RateLimit', rateLimit(quota));
}

/** The garbage of larger bodies is worth collecting. */
const LARGE_BYTES = 256 * 1024;

const FOR_KEY = { 'Cache-Control': 'private, no-cache', Vary: 'Authorization' };

/**
 * Prepares the responses; `isSecure` if the server itself speaks TLS. A Response copies the headers that it is made with, so
 * all answers of a kind share one Headers object: a new one for each would take three times as long.
 */
export function prepareAnswers(isSecure: boolean): Answers {
  const always = serverHeaders(isSecure);
  return {
    always,
    found: { status: 200, headers: new Headers({ ...FOR_KEY, ...always, 'Content-Type': 'application/json' }) },
    unchanged: { status: 304, headers: new Headers({ ...FOR_KEY, ...always }) },
  };
}

/** Makes the response of a route's answer, for a request with or without a key. */
export function answerTo(
  sending: Sending,
  request: Request,
  state: RequestState,
  answer: Answer | KeptAnswer,
): Response {
  if (state.key === null || 'gzip' in answer) return answerAnyone(sending.answers, request, state, answer);
  return answerKey(sending, request, state, answer);
}

/** Answers with an ETag, or a 304 if the client has this body already. Throws `busy` if {@link bufferedBody} does. */
function answerKey(sending: Sending, { headers }: Request, state: RequestState, answer: Answer): Response {
  const { found, unchanged } = sending.answers;
  const { body, etag = etagOf(body), headers: more } = answer;
  if (body.length > LARGE_BYTES) collectAfterLargeText(sending.collector, body.length);
  const known = headers.get('if-none-match');
  const isUnchanged = known !== null && matches(known, etag);
  const init = isUnchanged ? unchanged : found;
  const sent = isUnchanged ? null : sentBody(sending.sendBuffers, state, body);
  init.headers.set('ETag', etag);
  stamp(init.headers, state);
  const response = new Response(sent, init);
  if (more !== undefined) for (const name in more) response.headers.set(name, more[name] as string);
  return response;
}

/** A string is a single lookup, which is never held back. */
function sentBody(buffers: SendBuffers, { key }: RequestState, body: string | Body): string | Body | ReadableStream {
  return typeof body === 'string' ? body : bufferedBody(buffers, key?.identifier ?? '', body);
}

/** By default uncacheable JSON; a 304 if the answer has a tag and the client has its body already. */
function answerAnyone(
  { always }: Answers,
  request: Request,
  state: RequestState,
  answer: Answer | KeptAnswer,
): Response {
  const { body, etag, headers: more, status = 200 } = encodedFor(request, answer);
  const headers = new Headers({
    'Content-Type': 'application/json',
    'Cache-Control': 'no-store',
    ...always,
    ...(etag !== undefined && { ETag: etag }),
    ...more,
  });
  stamp(headers, state);
  const known = request.headers.get('if-none-match');
  const isUnchanged = etag !== undefined && known !== null && matches(known, etag);
  if (isUnchanged || body === '') headers.delete('Content-Type');
  if (isUnchanged) headers.delete('Content-Encoding');
  return new Response(isUnchanged ? null : body, { status: isUnchanged ? 304 : status, headers });
}

/** The variant of an answer that the client prefers. */
function encodedFor({ headers }: Request, answer: Answer | KeptAnswer): Answer | KeptAnswer {
  if (!('gzip' in answer) || !acceptsGzip(headers.get('accept-encoding'))) return answer;
  return { ...answer, ...answer.gzip, headers: { ...answer.headers, 'Content-Encoding': 'gzip' } };
}
