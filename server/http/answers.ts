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
 * is the body's tag, where that is known already.
 */
export type Answer = {
  readonly body: string | Body;
  readonly etag?: string;
  readonly headers?: Record<string, string> | undefined;
  readonly status?: 302;
};

/**
 * A document or page that is made once and sent to everybody. The bodies are Blobs because all responses share their bytes,
 * so that clients who read slowly hold no copies.
 */
export type KeptAnswer = {
  readonly body: Blob;
  readonly etag: string;
  readonly headers: Record<string, string>;
  readonly status?: undefined;
  /** The body for clients that accept gzip, with a tag of its own (RFC 9110, section 8.8.3.3). */
  readonly gzip: { body: Blob; etag: string };
};

/** What a route returns instead of throwing, where that is frequent: a throw costs half as much as a whole lookup. */
export type Refusal = { readonly thrown: AppError };

/** What all responses of a kind are made with. */
type Init = { readonly status: number; readonly headers: Headers };

/** What responses are made with. */
export type Sending = { readonly answers: Answers; readonly sendBuffers: SendBuffers; readonly collector: Collector };

/** What the responses to holders of keys are made with, and the headers of every answer. */
export type Answers = { readonly always: Record<string, string>; readonly found: Init; readonly unchanged: Init };

/** Strict-Transport-Security (RFC 6797) for two years, as the preload lists of browsers ask for. */
export const HSTS = 'max-age=63072000';

/** The headers of every answer, refusals included; `isSecure` where the server itself speaks TLS. */
export function serverHeaders(isSecure: boolean): Record<string, string> {
  return { 'X-Content-Type-Options': 'nosniff', ...(isSecure && { 'Strict-Transport-Security': HSTS }) };
}

/** Sets the headers that depend on the request: its id and, where it has a valid key, where the key's rate limits stand. */
export function stamp(headers: Headers, { requestId, quota }: RequestState): void {
  headers.set('X-Request-Id', requestId);
  if (quota === null) return;
  // Answers share their headers, and the next one is most likely to the same key: looking is cheaper than setting.
  const policy = rateLimitPolicy(quota);
  if (headers.get('RateLimit-Policy') !== policy) headers.set('RateLimit-Policy', policy);
  headers.set('RateLimit', rateLimit(quota));
}

/** A larger body leaves texts behind that are worth collecting. */
const LARGE_BYTES = 256 * 1024;

const FOR_KEY = { 'Cache-Control': 'private, no-cache', Vary: 'Authorization' };

/**
 * Prepares the responses; `isSecure` where the server itself speaks TLS. A Response copies the headers that it is made with.
 * So all answers of a kind share one Headers object; making a new one for each takes three times as long.
 */
export function prepareAnswers(isSecure: boolean): Answers {
  const always = serverHeaders(isSecure);
  return {
    always,
    found: { status: 200, headers: new Headers({ ...FOR_KEY, ...always, 'Content-Type': 'application/json' }) },
    unchanged: { status: 304, headers: new Headers({ ...FOR_KEY, ...always }) },
  };
}

/** Makes the response of what a route returned, as the holder of a key or as anybody else gets it. */
export function answerTo(
  sending: Sending,
  request: Request,
  state: RequestState,
  answer: Answer | KeptAnswer,
): Response {
  if (state.key === null || 'gzip' in answer) return answerAnyone(sending.answers, request, state, answer);
  return answerKey(sending, request, state, answer);
}

/** With an ETag, or a 304 where the client has this body already. Throws `busy` where {@link bufferedBody} does. */
function answerKey(sending: Sending, { headers }: Request, state: RequestState, answer: Answer): Response {
  const { found, unchanged } = sending.answers;
  const { body, etag = etagOf(body), headers: more } = answer;
  if (body.length > LARGE_BYTES) collectAfterLargeText(sending.collector, body.length);
  const isUnchanged = matches(headers.get('if-none-match'), etag);
  const init = isUnchanged ? unchanged : found;
  const sent = isUnchanged ? null : bufferedBody(sending.sendBuffers, state.key?.identifier ?? '', body);
  init.headers.set('ETag', etag);
  stamp(init.headers, state);
  const response = new Response(sent, init);
  if (more !== undefined) for (const name in more) response.headers.set(name, more[name] as string);
  return response;
}

/** JSON that nobody may store, unless the answer's headers say otherwise; a 304 where it has a tag and the client has it. */
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
  const isUnchanged = etag !== undefined && matches(request.headers.get('if-none-match'), etag);
  if (isUnchanged || body === '') headers.delete('Content-Type');
  if (isUnchanged) headers.delete('Content-Encoding');
  return new Response(isUnchanged ? null : body, { status: isUnchanged ? 304 : status, headers });
}

/** The variant of an answer that the client asks for. */
function encodedFor({ headers }: Request, answer: Answer | KeptAnswer): Answer | KeptAnswer {
  if (!('gzip' in answer) || !acceptsGzip(headers.get('accept-encoding'))) return answer;
  return { ...answer, ...answer.gzip, headers: { ...answer.headers, 'Content-Encoding': 'gzip' } };
}
