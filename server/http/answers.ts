import { AppError, type ErrorCode, refusalOf } from '../../shared/errors.ts';
import { etagOf } from '../../shared/etag.ts';
import { acceptsGzip, matches } from './conditional.ts';
import { publicRefusal } from './errors.ts';
import { rateLimit, rateLimitPolicy } from './quota.ts';
import type { RequestState } from './request-state.ts';

/**
 * What a route returns: the body of a 200, or an empty body and a Location, plus the headers that only this response has.
 * `etag` is the body's entity tag, if already known. `gzip` is the body for clients that accept it, with its own tag (RFC 9110,
 * section 8.8.3.3).
 */
export type Answer = {
  readonly body: string | Blob;
  readonly etag?: string;
  readonly headers?: Record<string, string> | undefined;
  readonly status?: 302;
  readonly gzip?: { body: Blob; etag: string };
};

/** Strict-Transport-Security (RFC 6797) for two years, as browsers' preload lists recommend. */
export const HSTS = 'max-age=63072000';

/** Creates the response to a request: JSON by default, uncacheable without a key, a 304 if the client has the body. */
export function answerTo({ method, headers: sent }: Request, { key, quota }: RequestState, answer: Answer): Response {
  const isZipped = answer.gzip !== undefined && acceptsGzip(sent.get('accept-encoding'));
  const { body, etag } = { ...answer, ...(isZipped && answer.gzip) };
  const tag = etag ?? (key === null ? undefined : etagOf(body as string));
  const known = sent.get('if-none-match');
  const isUnchanged = tag !== undefined && known !== null && matches(known, tag);
  const headers: Record<string, string> = {
    'Cache-Control': key === null ? 'no-store' : 'private, no-cache',
    'X-Content-Type-Options': 'nosniff',
  };
  if (key !== null) headers.Vary = 'Authorization';
  if (tag !== undefined) headers.ETag = tag;
  if (!isUnchanged && body !== '') headers['Content-Type'] = 'application/json';
  Object.assign(headers, answer.headers);
  if (isUnchanged) delete headers['Content-Type'];
  else if (isZipped) headers['Content-Encoding'] = 'gzip';
  if (quota !== null) {
    headers['RateLimit-Policy'] = rateLimitPolicy(quota);
    headers.RateLimit = rateLimit(quota);
  }
  // For HEAD, Elysia drops the body and adds its length, which for a 304 has to be that of the 200 (RFC 9110, section 8.6).
  const shown = isUnchanged && (method === 'GET' || key === null) ? null : body;
  return new Response(shown, { status: isUnchanged ? 304 : (answer.status ?? 200), headers });
}

/** A refused request: the response, and the error to log (null unless the server is at fault). */
export type Refused = { response: Response; fault: unknown };

/**
 * Creates the response to an error: `{"error":"<sentence>"}`, never cached, with the code in `X-Error-Code`. Any error that is
 * not an AppError meant for clients becomes a 500 that does not reveal its cause. `state` is null if the error precedes it.
 */
export function refuse(error: unknown, state: RequestState | null): Refused {
  const known = error instanceof AppError ? error : new AppError('internal', null, { cause: error });
  const { code, status, body, headers: more } = publicRefusal(known);
  const headers: Record<string, string> = {
    'Content-Type': 'application/json',
    'Cache-Control': 'no-store',
    'X-Content-Type-Options': 'nosniff',
    'X-Error-Code': code,
    ...more,
  };
  const quota = state?.quota ?? null;
  if (quota !== null) {
    headers['RateLimit-Policy'] = rateLimitPolicy(quota);
    headers.RateLimit = rateLimit(quota);
  }
  const isFault = refusalOf(code).isLogged && !known.details.isForClient;
  return { response: new Response(JSON.stringify(body), { status, headers }), fault: isFault ? error : null };
}

/** The code of a refusal; null for any other response. */
export function codeOf({ headers }: Response): ErrorCode | null {
  return headers.get('x-error-code') as ErrorCode | null;
}
