// Elysia 1.4.30 looks for the path behind a fixed number of characters of the URL (elysia #748). Bun makes the URL of Host and
// target, for absolute-form targets too, by a WHATWG parser: dot segments are resolved, also percent-encoded ones; a
// backslash becomes a slash; raw bytes are percent-encoded, those that are no UTF-8 as U+FFFD. A `#` stays in the path or
// the query, where no route and no parameter matches it. Where Host does not fit into a URL, Bun leaves the target as it
// was sent.

/** One host, with or without a port. Bun joins several Host headers by commas, which no host has. */
const HOST = /^(?:[^\s,:]+|\[[^\s,\]]+\])(?::([0-9]*))?$/;

const MAX_PORT = 65_535;

/** Where Elysia looks for the path of an `https:` URL: hosts of one or two characters end before it. */
const HTTPS_PATH_FROM = 11;

/** The requests of which Elysia was given a copy, by the copy. */
const originals = new WeakMap<Request, Request>();

/** Whether Host and target make a URL, and Host occurs at most once and is valid (RFC 9112, section 3.2). */
export function hasUrl({ url, headers }: Request): boolean {
  if (!url.startsWith('http')) return false;
  const host = headers.get('host');
  if (host === null) return true;
  const port = HOST.exec(host);
  return port !== null && Number(port[1] ?? 0) <= MAX_PORT;
}

/**
 * The request itself where Elysia finds its path. Otherwise a copy that differs in its URL, and {@link originalOf} has the
 * request: one over TLS with a very short host, or one without a URL, which {@link hasUrl} tells.
 */
export function routable(request: Request): Request {
  const { url } = request;
  if (url.startsWith('http://')) return request;
  if (!url.startsWith('https://')) return remember(new Request('http://none/', { headers: request.headers }), request);
  const path = url.indexOf('/', 8);
  if (path >= HTTPS_PATH_FROM) return request;
  return remember(new Request(`https://host${url.slice(path)}`, request), request);
}

/** The request that arrived: of a copy by {@link routable} what it was made of, of another request itself. */
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
