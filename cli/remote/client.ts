import type { z } from 'zod';
import { AppError } from '../../shared/errors.ts';
import { isLoopback } from '../../shared/net.ts';
import { parseJson } from '../../shared/text.ts';
import { VERSION } from '../../shared/version.ts';
import { connectionFault } from './connection-fault.ts';
import { refusalOfAnswer, strangeAnswer } from './refused-answer.ts';

// All requests from profilectl to a server's /manage/v1: JSON, forms and JSON Lines. Responses are checked by a schema that
// drops unknown fields, and limited in size, time and pages. `output.ts` cleans them for the terminal.

/** A server and the token for it, null if none is needed. */
export type AskedHost = {
  /** The origin with the optional path of its PUBLIC_URL, without a trailing slash. */
  url: string;
  token: string | null;
};

/** One request. At most one of `json`, `form` and `lines` is its body. */
export type HostRequest<Body> = {
  method: 'GET' | 'POST' | 'PATCH';
  /** The path below `/manage/v1`, such as `/keys`. Typed values in it must be encoded or checked. */
  path: string;
  /** Undefined parameters are omitted, and each element of a list becomes a parameter. */
  query?: Record<string, string | readonly string[] | undefined>;
  /** The ETag that the key must still have (RFC 9110, section 13.1.1). */
  ifMatch?: string | undefined;
  json?: object;
  form?: Record<string, string>;
  lines?: Uint8Array<ArrayBuffer>;
  /** The schema of the response's body, a JSON object. */
  answer: z.ZodType<Body>;
  /** Codes of refusals that are returned like successes; others are thrown. */
  returned?: readonly string[];
  /** How long the whole response may take. */
  patienceMs?: number;
};

/** The response: its headers, its JSON object (empty if there is no body), and the length of its text in characters. */
export type HostAnswer<Body> = { headers: Headers; body: Body; length: number };

const PATIENCE_MS = 30_000;

/** The limit of a response, and of all pages of a list together: far more than any server sends. */
const MAX_ANSWER_BYTES = 64 * 2 ** 20;

/** Far more pages than any list has. */
const MAX_PAGES = 2_000;

/**
 * Sends a request to a server and returns its response. Throws `try_later` if the server can't be reached or the connection
 * breaks, `not_logged_in` if it does not accept the token, `refused` if the body does not match the schema, otherwise the
 * server's code with its sentence. Redirects are not followed, and nothing is sent unencrypted to another machine.
 */
export async function askHost<Body>(host: AskedHost, request: HostRequest<Body>): Promise<HostAnswer<Body>> {
  const url = urlOf(host, request);
  const isLocal = isLoopback(url.hostname.replace(/^\[|\]$/g, ''));
  if (url.protocol !== 'https:' && !isLocal) {
    throw new AppError('refused', `${host.url} is not HTTPS; nothing was sent, because others could read it.`);
  }
  const patienceMs = request.patienceMs ?? PATIENCE_MS;
  // Sending the same lines again is harmless.
  const isChange = request.method !== 'GET' && request.lines === undefined;
  let answer: Response;
  let text: string | null;
  try {
    answer = await fetch(url, {
      ...bodyOf(host, request),
      method: request.method,
      redirect: 'manual',
      signal: AbortSignal.timeout(patienceMs),
      // Certificates are checked even if NODE_TLS_REJECT_UNAUTHORIZED is 0.
      tls: { rejectUnauthorized: true },
      // A proxy from the environment would receive the token unencrypted.
      ...(url.protocol === 'http:' && { proxy: false }),
    });
    text = await readText(answer);
  } catch (error) {
    throw connectionFault(host.url, isChange, patienceMs, error);
  }
  // A missing body counts as an empty object. A page of a proxy is not JSON.
  const json = text === null ? undefined : parseJson(text || '{}');
  const code = answer.headers.get('x-error-code') ?? '';
  if (!answer.ok && request.returned?.includes(code) !== true) throw refusalOfAnswer(host, answer, json);
  const { data: body } = request.answer.safeParse(json);
  if (body === undefined) throw strangeAnswer(host.url, answer.status);
  return { headers: answer.headers, body, length: text?.length ?? 0 };
}

/**
 * Requests a list page by page, and yields the body of each page. Throws what {@link askHost} throws, and `refused` for an
 * endless list.
 */
export async function* askPages<Body>(host: AskedHost, request: HostRequest<Body>): AsyncGenerator<Body> {
  let { query = {} } = request;
  for (let pages = 0, read = 0; pages < MAX_PAGES && read < MAX_ANSWER_BYTES; pages++) {
    const { headers, body, length } = await askHost(host, { ...request, query });
    yield body;
    const after = nextCursor(headers.get('link'));
    if (after === undefined) return;
    query = { ...query, after };
    read += length;
  }
  const sentence = `${host.url} returned too many pages; filter the list, for example by state or profile.`;
  throw new AppError('refused', sentence);
}

/** The cursor of the next page (RFC 8288), if there is one. The rest of its URL is ignored: it may name any server. */
function nextCursor(link: string | null): string | undefined {
  const [, url = ''] = /<([^>]*)>;\s*rel="next"/.exec(link ?? '') ?? [];
  return URL.parse(url)?.searchParams.get('after') ?? undefined;
}

function bodyOf(
  { token }: AskedHost,
  { json, form, lines, ifMatch }: HostRequest<unknown>,
): Pick<RequestInit, 'body' | 'headers'> {
  const headers = new Headers({ Accept: 'application/json', 'User-Agent': `profilectl/${VERSION}` });
  if (token !== null) headers.set('Authorization', `Bearer ${token}`);
  if (ifMatch !== undefined) headers.set('If-Match', ifMatch);
  if (lines !== undefined) headers.set('Content-Type', 'application/jsonl');
  if (json !== undefined) headers.set('Content-Type', 'application/json');
  if (form !== undefined) headers.set('Content-Type', 'application/x-www-form-urlencoded');
  const body = lines ?? (json && JSON.stringify(json)) ?? (form && new URLSearchParams(form).toString());
  return { headers, ...(body !== undefined && { body }) };
}

function urlOf(host: AskedHost, { path, query = {} }: HostRequest<unknown>): URL {
  const url = new URL(`${host.url}/manage/v1${path}`);
  for (const [name, value] of Object.entries(query)) {
    for (const one of value === undefined ? [] : [value].flat()) url.searchParams.append(name, one);
  }
  return url;
}

/** The body of a response as text; null if it is too long: the rest is not read. */
async function readText(answer: Response): Promise<string | null> {
  const decoder = new TextDecoder();
  let text = '';
  let bytes = 0;
  for await (const chunk of answer.body ?? []) {
    bytes += chunk.length;
    if (bytes > MAX_ANSWER_BYTES) return null;
    text += decoder.decode(chunk, { stream: true });
  }
  return text + decoder.decode();
}
