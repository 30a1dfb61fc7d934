import type { z } from 'zod';
import type { ErrorBody } from '../../shared/api/bodies.ts';
import { knownError } from '../../shared/db/faults.ts';
import { AppError, type ErrorCode, refusalOf } from '../../shared/errors.ts';
import { etagOf } from '../../shared/etag.ts';
import type { RequestState } from '../service.ts';
import { type Quota, rateLimit, rateLimitPolicy } from './quota.ts';

/**
 * What a route returns: the body of a 200, or an empty body and a Location, plus the headers that only this response has.
 * `etag` is the body's entity tag, if already known. `gzip` is the body for clients that accept it, with its own tag (RFC 9110,
 * section 8.8.3.3).
 */
export type Answer = {
  readonly body: string | Blob | Buffer<ArrayBuffer>;
  readonly etag?: string;
  readonly headers?: Record<string, string> | undefined;
  readonly status?: 302;
  readonly gzip?: { body: Blob; etag: string };
};

/** Strict-Transport-Security (RFC 6797) for two years, as browsers' preload lists recommend. */
export const HSTS = 'max-age=63072000';

/** Creates the response to a request: JSON by default, uncacheable without a key, a 304 if the client has the body. */
export function answerTo(request: Request, state: RequestState, answer: Answer): Response {
  const { quota, requestId } = state;
  if (quota !== null) return answerKey(request, requestId, quota, answer);
  const { headers: sent } = request;
  const isZipped = answer.gzip !== undefined && acceptsGzip(sent.get('accept-encoding'));
  const { body, etag } = { ...answer, ...(isZipped && answer.gzip) };
  const isUnchanged = etag !== undefined && isKnown(sent, etag);
  const headers: Record<string, string> = { 'Cache-Control': 'no-store', ...COMMON, 'X-Request-Id': requestId };
  if (etag !== undefined) headers.ETag = etag;
  if (body !== '') headers['Content-Type'] = 'application/json';
  Object.assign(headers, answer.headers);
  if (isUnchanged) delete headers['Content-Type'];
  else if (isZipped) headers['Content-Encoding'] = 'gzip';
  const shown = bodyFor(request, isUnchanged, body);
  return new Response(shown, { status: isUnchanged ? 304 : (answer.status ?? 200), headers });
}

const COMMON = { 'X-Content-Type-Options': 'nosniff' };
const FOR_KEY = { 'Cache-Control': 'private, no-cache', ...COMMON, Vary: 'Authorization' };

// A Response copies its headers, so all of a kind share one object: a new one for each would take a twentieth of a lookup's time.
const FOUND = new Headers({ ...FOR_KEY, 'Content-Type': 'application/json' });
const UNCHANGED = new Headers(FOR_KEY);

function answerKey(request: Request, requestId: string, quota: Quota, answer: Answer): Response {
  const { body, etag = etagOf(body as Exclude<typeof body, Blob>), headers: more } = answer;
  const isUnchanged = isKnown(request.headers, etag);
  const headers = isUnchanged ? UNCHANGED : FOUND;
  headers.set('ETag', etag);
  headers.set('X-Request-Id', requestId);
  headers.set('RateLimit-Policy', rateLimitPolicy(quota));
  headers.set('RateLimit', rateLimit(quota));
  const shown = bodyFor(request, isUnchanged, body);
  const response = new Response(shown, { status: isUnchanged ? 304 : 200, headers });
  for (const name in more) response.headers.set(name, more[name] as string);
  return response;
}

/** For HEAD, Elysia drops the body and adds its length, which for a 304 has to be that of the 200 (RFC 9110, section 8.6). */
function bodyFor({ method }: Request, isUnchanged: boolean, body: Answer['body']): Answer['body'] | null {
  return isUnchanged && method === 'GET' ? null : body;
}

function isKnown(sent: Headers, etag: string): boolean {
  const known = sent.get('if-none-match');
  return known !== null && matches(known, etag);
}

// A list of entity tags (RFC 9110, sections 5.6.1 and 8.8.3). A list may have empty elements.
const TAG_LIST =
  /^[\t ]*(?:(?:W\/)?"[\x21\x23-\x7e\x80-\xff]*"[\t ]*)?(?:,[\t ]*(?:(?:W\/)?"[\x21\x23-\x7e\x80-\xff]*"[\t ]*)?)*$/;

/**
 * Whether `If-None-Match` is `*` or a list with this tag (RFC 9110, section 13.1.2), also if a proxy has made it weak or, like
 * Apache, appended `-gzip` to it. A malformed value matches nothing.
 */
export function matches(ifNoneMatch: string, etag: string): boolean {
  if (ifNoneMatch === etag) return true;
  if (ifNoneMatch.trim() === '*') return true;
  if (!TAG_LIST.test(ifNoneMatch)) return false;
  const tags = ifNoneMatch.match(/(?:W\/)?"[\x21\x23-\x7e\x80-\xff]*"/g) ?? [];
  return tags.some((tag) => tag.replace(/^W\//, '').replace(/-gzip"$/, '"') === etag);
}

/** Whether `Accept-Encoding` allows gzip and does not prefer an uncompressed body (RFC 9110, section 12.5.3). */
export function acceptsGzip(acceptEncoding: string | null): boolean {
  const weights = new Map<string, number>();
  for (const item of acceptEncoding?.toLowerCase().split(',') ?? []) {
    const [coding = '', ...parameters] = item.split(';').map((part) => part.trim());
    const weight = parameters.find((parameter) => parameter.startsWith('q='))?.slice(2);
    weights.set(coding === 'x-gzip' ? 'gzip' : coding, weight === undefined ? 1 : Number(weight));
  }
  const gzip = weights.get('gzip') ?? weights.get('*') ?? 0;
  return gzip > 0 && gzip >= (weights.get('identity') ?? 0);
}

/** A refusal as clients receive it. */
type PublicRefusal = {
  code: ErrorCode;
  status: number;
  body: z.infer<typeof ErrorBody>;
  /** The headers that only some refusals have. */
  headers: Record<string, string> | undefined;
};

/** The part of an error that clients may see, also used for the OpenAPI document. */
export function publicRefusal({ code, message, details }: AppError): PublicRefusal {
  const { status, sentence = '', isSentenceFixed, headers } = refusalOf(code);
  if (status === undefined) return publicRefusal(INTERNAL);
  const error = isSentenceFixed && !details.isForClient ? sentence : message;
  return { code, status, body: { error }, headers: headers?.(details) };
}

const INTERNAL = new AppError('internal');

/** A refused request: the response, and the error to log (null unless the server is at fault). */
type Refused = { response: Response; fault: unknown };

/**
 * Creates the response to an error: `{"error":"<sentence>"}`, never cached, with the code in `X-Error-Code`. Any error that is
 * not an AppError meant for clients becomes a 500 that does not reveal its cause. `state` is null if the error precedes it.
 */
export function refuse(databasePath: string, error: unknown, state: RequestState | null): Refused {
  const known = knownError(databasePath, error);
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
