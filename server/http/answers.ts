import type { AppError } from '../../shared/errors.ts';
import { etagOf } from '../../shared/etag.ts';
import type { Body } from '../../shared/profiles/lookup/body.ts';
import { acceptsGzip, matches } from './conditional.ts';
import { rateLimit, rateLimitPolicy } from './quota.ts';
import type { RequestState } from './request-state.ts';

/**
 * What a route returns: the body of a 200, or an empty body and a Location, plus the headers that only this response has.
 * `etag` is the body's entity tag, if already known.
 */
export type Answer = {
  readonly body: string | Body;
  readonly etag?: string;
  readonly headers?: Record<string, string> | undefined;
  readonly status?: 302;
};

/**
 * A document or page that is created once and sent to everybody. All responses share the bytes of the Blobs, so slow clients
 * hold no copies.
 */
export type KeptAnswer = {
  readonly body: Blob;
  readonly etag: string;
  readonly headers: Record<string, string>;
  readonly status?: undefined;
  /** The body for clients that accept gzip, with its own tag (RFC 9110, section 8.8.3.3). */
  readonly gzip: { body: Blob; etag: string };
};

/** What a route returns for frequent refusals instead of throwing: a throw costs half as much as a whole lookup. */
export type Refusal = { readonly thrown: AppError };

type Init = { readonly status: number; readonly headers: Headers };

/** The shared options of responses to requests with a key, and the headers of every response. */
export type Answers = { readonly always: Record<string, string>; readonly found: Init; readonly unchanged: Init };

/** Strict-Transport-Security (RFC 6797) for two years, as browsers' preload lists recommend. */
export const HSTS = 'max-age=63072000';

/** The headers of every response, including refusals; `isSecure` if the server itself speaks TLS. */
export function serverHeaders(isSecure: boolean): Record<string, string> {
  return { 'X-Content-Type-Options': 'nosniff', ...(isSecure && { 'Strict-Transport-Security': HSTS }) };
}

/** Sets the headers that depend on the request: its id and, if it has a valid key, the RateLimit headers. */
export function stamp(headers: Headers, { requestId, quota }: RequestState): void {
  headers.set('X-Request-Id', requestId);
  if (quota === null) return;
  // Responses share their headers, and consecutive ones are mostly for the same key: comparing is cheaper than setting.
  const policy = rateLimitPolicy(quota);
  if (headers.get('RateLimit-Policy') !== policy) headers.set('RateLimit-Policy', policy);
  headers.set('RateLimit', rateLimit(quota));
}

const FOR_KEY = { 'Cache-Control': 'private, no-cache', Vary: 'Authorization' };

/**
 * Prepares the options of responses; `isSecure` if the server itself speaks TLS. A Response copies its headers, so all
 * responses of a kind share one Headers object: a new one for each would take three times as long.
 */
export function prepareAnswers(isSecure: boolean): Answers {
  const always = serverHeaders(isSecure);
  return {
    always,
    found: { status: 200, headers: new Headers({ ...FOR_KEY, ...always, 'Content-Type': 'application/json' }) },
    unchanged: { status: 304, headers: new Headers({ ...FOR_KEY, ...always }) },
  };
}

/** Creates the response to a request with or without a key. */
export function answerTo(
  answers: Answers,
  request: Request,
  state: RequestState,
  answer: Answer | KeptAnswer,
): Response {
  if (state.key === null || 'gzip' in answer) return answerAnyone(answers, request, state, answer);
  return answerKey(answers, request, state, answer);
}

function answerKey(
  { found, unchanged }: Answers,
  { method, headers }: Request,
  state: RequestState,
  answer: Answer,
): Response {
  const { body, etag = etagOf(body), headers: more } = answer;
  const known = headers.get('if-none-match');
  const isUnchanged = known !== null && matches(known, etag);
  const init = isUnchanged ? unchanged : found;
  // For HEAD, Elysia drops the body and adds its length, which for a 304 has to be that of the 200 (RFC 9110, section 8.6).
  const sent = isUnchanged && method === 'GET' ? null : body;
  init.headers.set('ETag', etag);
  stamp(init.headers, state);
  const response = new Response(sent, init);
  if (more !== undefined) for (const name in more) response.headers.set(name, more[name] as string);
  return response;
}

/** Uncacheable JSON by default; a 304 if the answer has a tag that the client sent. */
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

function encodedFor({ headers }: Request, answer: Answer | KeptAnswer): Answer | KeptAnswer {
  if (!('gzip' in answer) || !acceptsGzip(headers.get('accept-encoding'))) return answer;
  return { ...answer, ...answer.gzip, headers: { ...answer.headers, 'Content-Encoding': 'gzip' } };
}
