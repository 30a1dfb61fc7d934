import { connect } from 'node:net';
import { checkAnswer } from '../support/document.ts';

// HTTP byte by byte.

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
  const headers = new Headers();
  for (const field of fields) headers.append(field.slice(0, field.indexOf(':')), field.slice(field.indexOf(':') + 1));
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
