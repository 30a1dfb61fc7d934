import { afterAll } from 'bun:test';
import { connect } from 'node:net';
import type { RunningServer, ServerOptions } from '../../server/main.ts';
import { startServer } from '../../server/main.ts';
import type { Deps } from '../../shared/deps.ts';
import { checkAnswer } from './document.ts';
import { noteOutput } from './secret-search.ts';
import { testClock, testDeps } from './world.ts';

/** One JSON line of the log. */
export type LogLine = Record<string, unknown>;

/** A real server on a port that the system assigned, with its dependencies. */
export type TestServer = RunningServer & {
  deps: Deps & { folder: string; clock: ReturnType<typeof testClock> };
  /** Everything logged so far. */
  log: LogLine[];
};

/** Starts a server on a new database, with a clock that stands still. It is stopped when the test file is done. */
export async function startTestServer(
  changes: Partial<Deps> & { variables?: Record<string, string> } = {},
): Promise<TestServer> {
  const clock = testClock();
  const deps = { ...testDeps({ clock, ...changes }), clock };
  return serverOn(deps);
}

/** Servers drain for a second before they stop, for which most tests need not wait. */
const SHORT_DRAIN_MS = 50;

/** Starts a server on these dependencies; it drains for `drainMs` before it stops. */
export async function serverOn(
  deps: TestServer['deps'],
  drainMs = SHORT_DRAIN_MS,
  options: ServerOptions = {},
): Promise<TestServer> {
  const log: LogLine[] = [];
  const server = await startServer(deps, {
    port: 0,
    drainMs,
    ...options,
    log: {
      // Workers send several lines at once.
      write: (lines) => {
        for (const line of lines.trimEnd().split('\n')) log.push(JSON.parse(line));
      },
      drain: async () => {},
    },
  });
  afterAll(async () => {
    await server.stop();
    noteOutput(JSON.stringify(log));
  });
  return { ...server, deps, log };
}

/** Requests a path from the server, with a secret if one is given. Throws if the response is not as documented. */
export async function get(
  server: { url: string },
  path: string,
  secret?: string | null,
  init: RequestInit = {},
): Promise<Response> {
  const headers = new Headers(init.headers);
  if (typeof secret === 'string') headers.set('Authorization', `Bearer ${secret}`);
  const response = await fetch(server.url + path, { ...init, headers, redirect: 'manual' });
  const { status } = response;
  const body = await response.clone().text();
  checkAnswer({ method: init.method ?? 'GET', target: path, status, headers: response.headers, body });
  return response;
}

/** Sends lines to /manage/v1/profiles. */
export async function sendLines(
  server: { url: string },
  token: string,
  query: string,
  body: NonNullable<RequestInit['body']>,
  headers: Record<string, string> = {},
): Promise<Response> {
  return fetch(`${server.url}/manage/v1/profiles${query}`, {
    method: 'POST',
    body,
    headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/jsonl', ...headers },
  });
}

/** Sends these bytes on one connection, and returns everything received until the server closes it (Latin-1). */
export function sendRaw(server: { port: number }, bytes: string | Uint8Array): Promise<string> {
  const { promise, resolve } = Promise.withResolvers<string>();
  let answer = '';
  const socket = connect(server.port, '127.0.0.1', () => socket.write(bytes));
  socket.on('data', (chunk) => {
    answer += chunk.toString('latin1');
  });
  socket.on('error', () => undefined);
  socket.on('close', () => resolve(answer));
  return promise;
}

/** A parsed raw response. */
export type RawAnswer = { status: number; headers: Headers; body: string };

/** Sends one request with exactly this target, and parses the response. Throws if it is not as documented. */
export async function getRaw(
  server: { port: number },
  target: string,
  lines: readonly string[] = [],
  method = 'GET',
): Promise<RawAnswer> {
  const host = lines.some((line) => /^host:/i.test(line)) ? [] : ['Host: test'];
  const head = [`${method} ${target} HTTP/1.1`, ...host, ...lines, 'Connection: close'];
  const answer = takeApart(await sendRaw(server, Buffer.from(`${head.join('\r\n')}\r\n\r\n`)));
  const body = Buffer.from(answer.body, 'latin1').toString();
  checkAnswer({ method, target, ...answer, body });
  return answer;
}

/**
 * Status, headers and body of one raw response (Latin-1); status 0 if there was none. A chunked body is assembled, or
 * left unchanged if its last chunk is missing.
 */
export function takeApart(text: string): RawAnswer {
  const end = text.indexOf('\r\n\r\n');
  const [statusLine = '', ...fields] = text.slice(0, end).split('\r\n');
  const headers = new Headers(fields.map((field) => field.split(/:\s*/, 2) as [string, string]));
  for (const field of fields) headers.set(field.slice(0, field.indexOf(':')), field.slice(field.indexOf(':') + 1));
  const body = text.slice(end + 4);
  const isChunked = headers.get('transfer-encoding') === 'chunked';
  return { status: Number(statusLine.split(' ')[1] ?? 0), headers, body: isChunked ? unchunked(body) : body };
}

function unchunked(body: string): string {
  let whole = '';
  for (let at = 0; ; ) {
    const start = body.indexOf('\r\n', at) + 2;
    const length = Number.parseInt(body.slice(at, start), 16);
    if (Number.isNaN(length) || start + length > body.length) return body;
    if (length === 0) return whole;
    whole += body.slice(start, start + length);
    at = start + length + 2;
  }
}
