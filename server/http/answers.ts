import { etagOf } from '../../shared/etag.ts';
import type { Body } from '../../shared/profiles/read/body.ts';
import type { Exchange } from './exchange.ts';
import { rateLimit, rateLimitPolicy } from './quota.ts';

/** What a route found: the body of a 200, or an empty body and a Location; and the headers that only this answer has. */
export type Answer = {
  readonly body: string | Body;
  readonly etag?: undefined;
  headers?: Record<string, string>;
  status?: 302;
};

/**
 * What a route found after it had waited for something. The body is a text: other bodies are put together in a buffer that
 * other requests reuse in the meantime (`bodyOf`).
 */
export type LateAnswer = Answer & { readonly body: string };

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

/** A 200 whose body is read while it is sent. A stream that is not sent after all has to be cancelled. */
export type StreamedAnswer = {
  readonly body: ReadableStream<Uint8Array<ArrayBuffer>>;
  readonly etag: string;
  readonly headers: Record<string, string>;
  readonly status?: undefined;
};

/** Makes responses of what routes found. */
export type Answers = {
  /** The response to the holder of a key: with an ETag, or a 304 where the client has this body already. */
  toKey: (exchange: Exchange, answer: Sendable) => Response;
  /** The response to anybody: JSON that nobody may store, unless the answer's headers say otherwise; a 304 as above. */
  toAnyone: (exchange: Exchange, answer: Sendable) => Response;
};

/** Everything that a response can be made of. */
type Sendable = Answer | KeptAnswer | StreamedAnswer;

/** Strict-Transport-Security (RFC 6797) for two years, as the preload lists of browsers ask for. */
export const HSTS = 'max-age=63072000';

/** The headers of every answer, refusals included; `isSecure` where the server itself speaks TLS. */
export function serverHeaders(isSecure: boolean): Record<string, string> {
  return { 'X-Content-Type-Options': 'nosniff', ...(isSecure && { 'Strict-Transport-Security': HSTS }) };
}

/** Sets the headers that depend on the request: its id and, where it has a valid key, where the key's rate limits stand. */
export function stamp(headers: Headers, { requestId, quota }: Exchange): void {
  headers.set('X-Request-Id', requestId);
  if (quota === null) return;
  headers.set('RateLimit-Policy', rateLimitPolicy(quota));
  headers.set('RateLimit', rateLimit(quota));
}

const FOR_KEY = { 'Cache-Control': 'private, no-cache', Vary: 'Authorization' };

/**
 * Prepares the responses; `isSecure` where the server itself speaks TLS. A Response copies the headers that it is made with.
 * So all answers of a kind share one Headers object; making a new one for each takes three times as long.
 */
export function prepareAnswers(isSecure: boolean): Answers {
  const always = serverHeaders(isSecure);
  const found = new Headers({ ...FOR_KEY, ...always, 'Content-Type': 'application/json' });
  const unchanged = new Headers({ ...FOR_KEY, ...always });
  const asFound = { status: 200, headers: found };
  const asUnchanged = { status: 304, headers: unchanged };

  return {
    toKey: (exchange, answer) => {
      const { body, headers: more } = answer;
      const etag = answer.etag ?? etagOf(answer.body);
      const isUnchanged = matches(exchange.headers.get('if-none-match'), etag);
      if (isUnchanged && body instanceof ReadableStream) void body.cancel();
      const { headers } = isUnchanged ? asUnchanged : asFound;
      headers.set('ETag', etag);
      stamp(headers, exchange);
      const response = isUnchanged ? new Response(null, asUnchanged) : new Response(body, asFound);
      if (more !== undefined) for (const name in more) response.headers.set(name, more[name] as string);
      return response;
    },
    toAnyone: (exchange, answer) => {
      const { body, etag, headers: more, status = 200 } = encodedFor(exchange, answer);
      const headers = new Headers({
        'Content-Type': 'application/json',
        'Cache-Control': 'no-store',
        ...always,
        ...(etag !== undefined && { ETag: etag }),
        ...more,
      });
      stamp(headers, exchange);
      const isUnchanged = etag !== undefined && matches(exchange.headers.get('if-none-match'), etag);
      if (isUnchanged || body === '') headers.delete('Content-Type');
      if (isUnchanged) headers.delete('Content-Encoding');
      return new Response(isUnchanged ? null : body, { status: isUnchanged ? 304 : status, headers });
    },
  };
}

/** The variant of an answer that the client asks for. */
function encodedFor({ headers }: Exchange, answer: Sendable): Sendable {
  if (!('gzip' in answer) || !acceptsGzip(headers.get('accept-encoding'))) return answer;
  return { ...answer, ...answer.gzip, headers: { ...answer.headers, 'Content-Encoding': 'gzip' } };
}

/** Whether `Accept-Encoding` allows gzip (RFC 9110, section 12.5.3). */
export function acceptsGzip(acceptEncoding: string | null): boolean {
  const weights = new Map<string, number>();
  for (const item of acceptEncoding?.toLowerCase().split(',') ?? []) {
    const [coding = '', ...parameters] = item.split(';').map((part) => part.trim());
    const weight = parameters.find((parameter) => parameter.startsWith('q='))?.slice(2);
    weights.set(coding === 'x-gzip' ? 'gzip' : coding, weight === undefined ? 1 : Number(weight));
  }
  return (weights.get('gzip') ?? weights.get('*') ?? 0) > 0;
}

// A list of entity tags (RFC 9110, sections 5.6.1 and 8.8.3). A list may have empty elements.
const TAG_LIST =
  /^[\t ]*(?:(?:W\/)?"[\x21\x23-\x7e\x80-\xff]*"[\t ]*)?(?:,[\t ]*(?:(?:W\/)?"[\x21\x23-\x7e\x80-\xff]*"[\t ]*)?)*$/;

/**
 * Whether `If-None-Match` names this tag: it is `*`, or a list with this tag, weak or strong (RFC 9110, section 13.1.2). A
 * malformed value matches nothing.
 */
export function matches(ifNoneMatch: string | null, etag: string): boolean {
  if (ifNoneMatch === null) return false;
  if (ifNoneMatch === etag) return true;
  if (ifNoneMatch.trim() === '*') return true;
  if (!TAG_LIST.test(ifNoneMatch)) return false;
  const tags = ifNoneMatch.match(/(?:W\/)?"[\x21\x23-\x7e\x80-\xff]*"/g) ?? [];
  return tags.some((tag) => tag.replace(/^W\//, '') === etag);
}
