import type { ErrorCode } from '../../shared/errors.ts';
import type { VerifiedKey } from '../../shared/keys/verify.ts';
import { type Random, randomBase62 } from '../../shared/random.ts';
import type { Quota } from './quota.ts';

/**
 * One request on its way through the server, and what has been found out about it so far. It stands in for the Request
 * before Elysia: `url`, `method` and `headers` are what Elysia reads.
 */
export type Exchange = {
  /** `http://h` and the target, whatever the scheme and the Host: see {@link targetOf}. */
  readonly url: string;
  readonly method: string;
  readonly headers: Headers;
  /** Path and query as sent, still encoded; null where the request named no authority. */
  readonly path: string | null;
  readonly query: string;
  /** The address at the other end of the connection. */
  readonly peer: string;
  /** The client's address, behind trusted proxies too. */
  address: string;
  readonly requestId: string;
  readonly startedAtMs: number;
  key: VerifiedKey | null;
  quota: Quota | null;
  /** Why it was refused, once it is. */
  refusal: ErrorCode | null;
};

/** One host, with a port or without. Bun hands over several Host lines as one value with commas between them. */
const HOST = /^(?:[^\s,:]+|\[[^\s,\]]+\])(?::([0-9]*))?$/;

const MAX_PORT = 65_535;

/** Whether there was one Host line, with a port that exists if it names one (RFC 9112, section 3.2: else 400). */
function isHost(host: string): boolean {
  const port = HOST.exec(host);
  return port !== null && Number(port[1] ?? 0) <= MAX_PORT;
}

/**
 * Path and query out of `Request.url`, or null where the `host` header is absent or invalid (where it does not fit into a
 * URL, Bun leaves the target as sent). Bun builds the URL from Host and target, for absolute-form targets too, and a
 * WHATWG parser has been over it: dot segments are resolved, encoded ones too, a backslash is a slash, raw bytes are
 * percent-encoded (those that are no UTF-8 as U+FFFD). `#` stays in the path or the query, where nothing matches it.
 */
export function targetOf(url: string, host: string | null): string | null {
  if (host !== null && !isHost(host)) return null;
  if (!url.startsWith('http://') && !url.startsWith('https://')) return null;
  const start = url.indexOf('/', 8);
  return start === -1 ? '/' : url.slice(start);
}

/** What Elysia gets to see: its search for the path is right for this authority and scheme only (elysia 1.4.30). */
export function urlForElysia(target: string): string {
  return `http://h${target}`;
}

/** Makes request ids: a prefix that no other process has, then a counter. Never what the client sent. */
export function requestIds(random: Random): () => string {
  const prefix = randomBase62(12, random);
  let count = 0;
  return () => `${prefix}-${(++count).toString(36)}`;
}
