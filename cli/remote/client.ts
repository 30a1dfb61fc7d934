import { AppError } from '../../shared/errors.ts';
import { isLoopback } from '../../shared/net.ts';
import { VERSION } from '../../shared/version.ts';
import { connectionFault } from './connection-fault.ts';
import { refusalOfAnswer } from './refused-answer.ts';

// The one place where profilectl asks a server elsewhere: JSON, forms and JSON Lines to /manage/v1.

/** A server and the token to use there; the token is null where none is needed. */
export type AskedHost = {
  /** The origin with the optional prefix of its PUBLIC_URL, without a slash at the end. */
  url: string;
  token: string | null;
};

/** One request. At most one of `json`, `form` and `lines` is its body. */
export type Question = {
  method: 'GET' | 'POST' | 'PATCH';
  /** The path below `/manage/v1`, such as `/keys`; what comes from a person in it is encoded. */
  path: string;
  /** Parameters; undefined ones are left out, and those of a list are sent one by one. */
  query?: Record<string, string | readonly string[] | undefined>;
  json?: object;
  form?: Record<string, string>;
  /** JSON Lines. */
  lines?: Uint8Array<ArrayBuffer>;
  /** Codes of refusals that are answers to whoever asks: they are returned, all others are thrown. */
  returned?: readonly string[];
  /** How long the whole answer may take, in milliseconds. */
  patienceMs?: number;
};

/** The answer: its status, headers, and its JSON object, which is empty where the server sent nothing. */
export type HostAnswer = { status: number; headers: Headers; body: Record<string, unknown> };

const PATIENCE_MS = 30_000;

/** No answer is longer: the longest is the list of 50 000 refused lines. */
const MAX_ANSWER_BYTES = 64 * 2 ** 20;

/**
 * Asks a server and returns its answer. Whatever else happens is thrown as an AppError that says what to do: `try_later`
 * where the server can't be reached or broke off, `not_logged_in` where it does not accept the token, and otherwise what
 * the server's code means here, with the server's sentence. No redirect is followed, and nothing is sent in clear to
 * another machine.
 */
export async function askHost(host: AskedHost, question: Question): Promise<HostAnswer> {
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
      ...bodyOf(question),
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
  const body = text === null ? null : parseObject(text);
  const code = answer.headers.get('x-error-code') ?? '';
  const isGood = answer.ok || question.returned?.includes(code) === true;
  if (isGood && body !== null) return { status: answer.status, headers: answer.headers, body };
  throw refusalOfAnswer(host, answer, body);

  function bodyOf({ json, form, lines }: Question): Pick<RequestInit, 'body' | 'headers'> {
    const headers = new Headers({ Accept: 'application/json', 'User-Agent': `profilectl/${VERSION}` });
    if (host.token !== null) headers.set('Authorization', `Bearer ${host.token}`);
    if (lines !== undefined) headers.set('Content-Type', 'application/jsonl');
    if (json !== undefined) headers.set('Content-Type', 'application/json');
    if (form !== undefined) headers.set('Content-Type', 'application/x-www-form-urlencoded');
    const body = lines ?? (json && JSON.stringify(json)) ?? (form && new URLSearchParams(form).toString());
    return { headers, ...(body !== undefined && { body }) };
  }
}

function urlOf(host: AskedHost, { path, query = {} }: Question): URL {
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

/** The JSON object of an answer, an empty one where it is empty; null for anything else, such as a proxy's page. */
function parseObject(text: string): Record<string, unknown> | null {
  if (text === '') return {};
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : null;
  } catch {
    return null;
  }
}
