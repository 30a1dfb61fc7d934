import type { z } from 'zod';
import { AppError } from '../../shared/errors.ts';
import { isLoopback } from '../../shared/net.ts';
import { parseJson } from '../../shared/text.ts';
import { VERSION } from '../../shared/version.ts';
import { connectionFault } from './connection-fault.ts';
import { refusalOfAnswer, strangeAnswer } from './refused-answer.ts';

// All requests from profilectl to a server's /manage/v1: JSON, forms and JSON Lines. Of an answer only what its schema
// describes is used, within limits of size, time and pages. `output.ts` cleans it for the terminal.

/** A server and the token to use there, null if none is needed. */
export type AskedHost = {
  /** The origin with the optional path of its PUBLIC_URL, without a trailing slash. */
  url: string;
  token: string | null;
};

/** One request. At most one of `json`, `form` and `lines` is its body. */
export type HostRequest<Body> = {
  method: 'GET' | 'POST' | 'PATCH';
  /** The path below `/manage/v1`, such as `/keys`, with typed values already encoded or checked. */
  path: string;
  /** Parameters; undefined ones are omitted, and a list becomes one parameter for each element. */
  query?: Record<string, string | readonly string[] | undefined>;
  /** The entity tag that the key must still have (RFC 9110, section 13.1.1). */
  ifMatch?: string | undefined;
  json?: object;
  form?: Record<string, string>;
  /** JSON Lines. */
  lines?: Uint8Array<ArrayBuffer>;
  /** The schema of the answer's body, a JSON object. */
  answer: z.ZodType<Body>;
  /** Codes of refusals that are returned as answers; all others are thrown. */
  returned?: readonly string[];
  /** How long the whole answer may take, in milliseconds. */
  patienceMs?: number;
};

/** The answer: its headers, its JSON object (empty if the server sent no body), and the length of its text in characters. */
export type HostAnswer<Body> = { headers: Headers; body: Body; length: number };

const PATIENCE_MS = 30_000;

/** The limit of an answer, and of all pages of a list together: far more than any server sends. */
const MAX_ANSWER_BYTES = 64 * 2 ** 20;

/** The limit of pages of a list: far more than any list has. */
const MAX_PAGES = 2_000;

/**
 * Sends a request to a server and returns its answer. Everything else is thrown as an AppError that says what to do:
 * `try_later` if the server can't be reached or the connection breaks, `not_logged_in` if it doesn't accept the token,
 * `refused` for a body of another kind, otherwise the server's code with its sentence. No redirect is followed, and nothing
 * is sent unencrypted to another machine.
 */
export async function askHost<Body>(host: AskedHost, request: HostRequest<Body>): Promise<HostAnswer<Body>> {
  const url = urlOf(host, request);
  const isLocal = isLoopback(url.hostname.replace(/^\[|\]$/g, ''));
  if (url.protocol !== 'https:' && !isLocal) {
    throw new AppError('refused', `${host.url} is not HTTPS; nothing was sent, because others could have read it.`);
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
      // A proxy from the environment would get the token unencrypted.
      ...(url.protocol === 'http:' && { proxy: false }),
    });
    text = await readText(answer);
  } catch (error) {
    throw connectionFault(host.url, isChange, patienceMs, error);
  }
  // A body that is missing counts as an empty object; a proxy's page is not JSON.
  const json = text === null ? undefined : parseJson(text || '{}');
  const code = answer.headers.get('x-error-code') ?? '';
  if (!answer.ok && request.returned?.includes(code) !== true) throw refusalOfAnswer(host, answer, json);
  const { data: body } = request.answer.safeParse(json);
  if (body === undefined) throw strangeAnswer(host.url, answer.status);
  return { headers: answer.headers, body, length: text?.length ?? 0 };
}

/**
 * Requests a list page by page, and yields the bodies of all pages. Throws what {@link askHost} throws, and `refused` for an
 * endless list.
 */
export async function* askPages<Body>(host: AskedHost, request: HostRequest<Body>): AsyncGenerator<Body> {
  let after: string | undefined;
  for (let pages = 0, read = 0; pages < MAX_PAGES && read < MAX_ANSWER_BYTES; pages++) {
    const { headers, body, length } = await askHost(host, { ...request, query: { ...request.query, after } });
    yield body;
    after = nextCursor(headers.get('link'));
    if (after === undefined) return;
    read += length;
  }
  const sentence = `${host.url} returned too many pages; filter the list, for example by state or profile.`;
  throw new AppError('refused', sentence);
}

/** The cursor of the next page (RFC 8288), if there is one. The rest of its address is ignored: it may name any server. */
function nextCursor(link: string | null): string | undefined {
  const [, address = ''] = /<([^>]*)>;\s*rel="next"/.exec(link ?? '') ?? [];
  return URL.parse(address)?.searchParams.get('after') ?? undefined;
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

/** The answer's body as text; null if it is too long, in which case the rest is not read. */
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
