// Elysia 1.4.30 searches for the path from a fixed index of the URL (elysia #748). Bun builds the URL from Host and target,
// also for absolute-form targets, with a WHATWG parser: dot segments are resolved, even percent-encoded ones; a backslash
// becomes a slash; raw bytes are percent-encoded, those that are not UTF-8 as U+FFFD. A `#` stays in the path or the query,
// where no route and no parameter matches it. If Host does not fit into a URL, Bun leaves the target as sent.

/** One host, with or without a port. Bun joins several Host headers with commas, which no host contains. */
const HOST = /^(?:[^\s,:]+|\[[^\s,\]]+\])(?::([0-9]*))?$/;

const MAX_PORT = 65_535;

/** Where Elysia starts searching for the path of an `https:` URL: a host of one or two characters ends before it. */
const HTTPS_PATH_FROM = 11;

/** The original requests by the copies that were passed to Elysia. */
const originals = new WeakMap<Request, Request>();

/** The Host of the latest request: nearly all requests have the same. */
const latest = { host: '', isValid: false };

/** Whether Host and target form a URL, and Host is valid and not repeated (RFC 9112, section 3.2). */
export function hasUrl({ url, headers }: Request): boolean {
  if (!url.startsWith('http')) return false;
  const host = headers.get('host');
  if (host === null) return true;
  if (host !== latest.host) Object.assign(latest, { host, isValid: isValidHost(host) });
  return latest.isValid;
}

function isValidHost(host: string): boolean {
  const port = HOST.exec(host);
  return port !== null && Number(port[1] ?? 0) <= MAX_PORT;
}

/**
 * Returns the request itself if Elysia finds its path. Otherwise, for a very short host over TLS or without a URL (see
 * {@link hasUrl}), returns a copy with another URL; {@link originalOf} returns the original.
 */
export function routable(request: Request): Request {
  const { url } = request;
  if (url.startsWith('http://')) return request;
  if (!url.startsWith('https://')) return remember(new Request('http://none/', { headers: request.headers }), request);
  const path = url.indexOf('/', 8);
  if (path >= HTTPS_PATH_FROM) return request;
  return remember(new Request(`https://host${url.slice(path)}`, request), request);
}

/** The original of a copy made by {@link routable}, otherwise the request itself. */
export function originalOf(request: Request): Request {
  return originals.get(request) ?? request;
}

/** The query of a URL without its `?`, still percent-encoded. */
export function queryOf({ url }: Request): string {
  const mark = url.indexOf('?');
  return mark === -1 ? '' : url.slice(mark + 1);
}

function remember(copy: Request, request: Request): Request {
  originals.set(copy, request);
  return copy;
}
