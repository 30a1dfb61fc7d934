import type { z } from 'zod';
import { AppError } from '../../shared/errors.ts';
import { isLoopback } from '../../shared/net.ts';
import { VERSION } from '../../shared/version.ts';
import { connectionFault } from './connection-fault.ts';
import { refusalOfAnswer, strangeAnswer } from './refused-answer.ts';

// The one place where profilectl asks a server elsewhere: JSON, forms and JSON Lines to /manage/v1. Nothing that a server sends
// comes past it but what its schema describes, within limits of size, time and pages. `output.ts` cleans it for the terminal.

/** A server and the token to use there; the token is null where none is needed. */
export type AskedHost = {
  /** The origin with the optional prefix of its PUBLIC_URL, without a slash at the end. */
  url: string;
  token: string | null;
};

/** One request. At most one of `json`, `form` and `lines` is its body. */
export type Question<Body> = {
  method: 'GET' | 'POST' | 'PATCH';
  /** The path below `/manage/v1`, such as `/keys`; what comes from a person in it is encoded. */
  path: string;
  /** Parameters; undefined ones are left out, and those of a list are sent one by one. */
  query?: Record<string, string | readonly string[] | undefined>;
  json?: object;
  form?: Record<string, string>;
  /** JSON Lines. */
  lines?: Uint8Array<ArrayBuffer>;
  /** What the body of an answer is: a JSON object. */
  answer: z.ZodType<Body>;
  /** Codes of refusals that are answers to whoever asks: they are returned, all others are thrown. */
  returned?: readonly string[];
  /** How long the whole answer may take, in milliseconds. */
  patienceMs?: number;
};

/** The answer: its headers, and its JSON object, which is empty where the server sent nothing, with the length of its text. */
export type HostAnswer<Body> = { headers: Headers; body: Body; length: number };

const PATIENCE_MS = 30_000;

/** No answer is longer, nor are all pages of a list together: the longest is the list of 50 000 refused lines. */
const MAX_ANSWER_BYTES = 64 * 2 ** 20;

/** No list has more pages. */
const MAX_PAGES = 2_000;

/**
 * Asks a server and returns its answer. Whatever else happens is thrown as an AppError that says what to do: `try_later`
 * where the server can't be reached or broke off, `not_logged_in` where it does not accept the token, and otherwise what
 * the server's code means here, with the server's sentence; `refused` too for a body of another kind. No redirect is followed, and nothing is sent in clear to
 * another machine.
 */
export async function askHost<Body>(host: AskedHost, question: Question<Body>): Promise<HostAnswer<Body>> {
  const url = urlOf(host, question);
  const isLocal = isLoopback(url.hostname.replace(/^\[|\]$/g, ''));
  if (url.protocol !== 'https:' && !isLocal) {
    throw new AppError('refused', `${host.url} is not HTTPS; nothing was sent, because others could have read it.`);
  }
  const patienceMs = question.patienceMs ?? PATIENCE_MS;
  // To send the same lines again is harmless.
  const isChange = question.method !== 'GET' && question.lines === undefined;
  let answer: Response;
  let text: string | null;
  try {
    answer = await fetch(url, {
      ...bodyOf(host, question),
      method: question.method,
      redirect: 'manual',
      signal: AbortSignal.timeout(patienceMs),
      // This is so whatever NODE_TLS_REJECT_UNAUTHORIZED says.
      tls: { rejectUnauthorized: true },
      // A proxy that the environment names would get the token in clear.
      ...(url.protocol === 'http:' && { proxy: false }),
    });
    text = await readText(answer);
  } catch (error) {
    throw connectionFault(host.url, isChange, patienceMs, error);
  }
  const json = text === null ? null : parseJson(text);
  const code = answer.headers.get('x-error-code') ?? '';
  if (!answer.ok && question.returned?.includes(code) !== true) throw refusalOfAnswer(host, answer, json);
  const { data: body } = question.answer.safeParse(json);
  if (body === undefined) throw strangeAnswer(host.url, answer.status);
  return { headers: answer.headers, body, length: text?.length ?? 0 };
}

/**
 * Asks for a list, page by page, and yields the bodies of all pages. Throws what {@link askHost} throws, and `refused` for a
 * list without an end.
 */
export async function* askPages<Body>(host: AskedHost, question: Question<Body>): AsyncGenerator<Body> {
  let after: string | undefined;
  for (let pages = 0, read = 0; pages < MAX_PAGES && read < MAX_ANSWER_BYTES; pages++) {
    const { headers, body, length } = await askHost(host, { ...question, query: { ...question.query, after } });
    yield body;
    after = nextPlace(headers.get('link'));
    if (after === undefined) return;
    read += length;
  }
  const sentence = `The list of ${host.url} does not end; ask for less of it, such as the keys of one state or profile.`;
  throw new AppError('refused', sentence);
}

/** Where the next page begins (RFC 8288), if there is one. Its address itself is not used: it may be anywhere. */
function nextPlace(link: string | null): string | undefined {
  const [, address = ''] = /<([^>]*)>;\s*rel="next"/.exec(link ?? '') ?? [];
  return URL.parse(address)?.searchParams.get('after') ?? undefined;
}

function bodyOf({ token }: AskedHost, { json, form, lines }: Question<unknown>): Pick<RequestInit, 'body' | 'headers'> {
  const headers = new Headers({ Accept: 'application/json', 'User-Agent': `profilectl/${VERSION}` });
  if (token !== null) headers.set('Authorization', `Bearer ${token}`);
  if (lines !== undefined) headers.set('Content-Type', 'application/jsonl');
  if (json !== undefined) headers.set('Content-Type', 'application/json');
  if (form !== undefined) headers.set('Content-Type', 'application/x-www-form-urlencoded');
  const body = lines ?? (json && JSON.stringify(json)) ?? (form && new URLSearchParams(form).toString());
  return { headers, ...(body !== undefined && { body }) };
}

function urlOf(host: AskedHost, { path, query = {} }: Question<unknown>): URL {
  const url = new URL(`${host.url}/manage/v1${path}`);
  for (const [name, value] of Object.entries(query)) {
    for (const one of value === undefined ? [] : [value].flat()) url.searchParams.append(name, one);
  }
  return url;
}

/** The answer's body as text; null where it is longer than any answer, of which the rest is not read. */
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

/** The value of a JSON text, an empty object where it is empty; null for anything else, such as a proxy's page. */
function parseJson(text: string): unknown {
  if (text === '') return {};
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
