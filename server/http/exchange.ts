import type { ErrorCode } from '../../shared/errors.ts';
import type { VerifiedKey } from '../../shared/keys/verify.ts';
import { type Random, randomBase62 } from '../../shared/random.ts';
import type { Quota } from './quota.ts';

/**
 * One request, and what the steps of the chain have found out about it so far. Elysia is given this object instead of the
 * Request; it reads `url`, `method` and `headers` only.
 */
export type Exchange = {
  /** The request itself, whose body only forms have read. */
  readonly request: Request;
  /** `http://h` and the target, whatever scheme and Host the request has; see {@link urlForElysia}. */
  readonly url: string;
  readonly method: string;
  readonly headers: Headers;
  /** The path as it was sent, still percent-encoded; null where the request has no valid Host. */
  readonly path: string | null;
  /** The query without its `?`, still percent-encoded. */
  readonly query: string;
  /** The address at the other end of the connection. */
  readonly peer: string;
  /** The client's address; until the chain has found that out, the peer's. */
  address: string;
  readonly requestId: string;
  /** When the request was taken in, by the monotonic clock. */
  readonly startedAtMs: number;
  /** The key of the request, once it was verified. */
  key: VerifiedKey | null;
  quota: Quota | null;
  /** Why the request was refused, once it was. */
  refusal: ErrorCode | null;
};

/** One host, with or without a port. Bun joins several Host headers by commas, which no host has. */
const HOST = /^(?:[^\s,:]+|\[[^\s,\]]+\])(?::([0-9]*))?$/;

const MAX_PORT = 65_535;

/** Whether there was one valid Host header, as RFC 9112, section 3.2, demands; otherwise the request gets a 400. */
function isHost(host: string): boolean {
  const port = HOST.exec(host);
  return port !== null && Number(port[1] ?? 0) <= MAX_PORT;
}

/**
 * The path and query of `Request.url`; null where the `host` header is absent or invalid. Bun makes the URL of Host and
 * target, for absolute-form targets too, by a WHATWG parser: dot segments are resolved, also percent-encoded ones; a
 * backslash becomes a slash; raw bytes are percent-encoded, those that are no UTF-8 as U+FFFD. A `#` stays in the path or
 * the query, where no route and no parameter matches it. Where Host does not fit into a URL, Bun leaves the target as it
 * was sent.
 */
export function targetOf(url: string, host: string | null): string | null {
  if (host !== null && !isHost(host)) return null;
  if (!url.startsWith('http://') && !url.startsWith('https://')) return null;
  const start = url.indexOf('/', 8);
  return start === -1 ? '/' : url.slice(start);
}

/** The URL that Elysia is given: it finds the path only for this scheme and a host this short (elysia 1.4.30). */
export function urlForElysia(target: string): string {
  return `http://h${target}`;
}

/** Makes a function that returns new request ids: a random prefix, then a counter. Ids that clients send are not used. */
export function requestIds(random: Random): () => string {
  const prefix = randomBase62(12, random);
  let count = 0;
  return () => `${prefix}-${(++count).toString(36)}`;
}
