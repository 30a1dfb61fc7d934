import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { AppError } from '../../../shared/errors.ts';
import { REFUSALS } from '../../../shared/refusals.ts';

// Receives the answer of the server's page through the browser (RFC 8252, section 7.3): one request to a loopback port that
// the system assigns.

/** The answer of the page: a code or the name of an error, and the issuer that it claims (RFC 9207). */
export type PageAnswer = { code: string | null; error: string | null; issuer: string | null };

/** A listener that waits for one answer. */
export type Callback = {
  /** The URL to which the page redirects the browser. */
  redirectUri: string;
  /** Resolves when the answer has arrived and the browser has received a page. */
  answer: Promise<PageAnswer>;
  close: () => void;
};

/**
 * Listens on 127.0.0.1, or on ::1 without IPv4, for one answer with this `state`; other requests are refused. Throws
 * `refused` if it can listen on neither.
 */
export async function listenForAnswer(state: string): Promise<Callback> {
  const { promise, resolve } = Promise.withResolvers<PageAnswer>();
  let isAnswered = false;
  const server = createServer((request, response) => {
    const [path, query = ''] = (request.url ?? '').split('?', 2);
    if (request.method !== 'GET' || path !== '/callback' || isAnswered) return reply(response, NOTHING);
    const answer = answerIn(new URLSearchParams(query), state);
    if (answer === null) return reply(response, STRANGE);
    isAnswered = true;
    response.once('close', () => resolve(answer));
    reply(response, DONE);
  });
  const address = await listen(server);
  const host = address.family === 'IPv6' ? '[::1]' : '127.0.0.1';
  return {
    redirectUri: `http://${host}:${address.port}/callback`,
    answer: promise,
    close: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}

/** The page's answer; null if it does not belong to this login: the state differs, or a parameter is missing or repeated. */
function answerIn(parameters: URLSearchParams, state: string): PageAnswer | null {
  const one = (name: string) => {
    const values = parameters.getAll(name);
    return values.length === 1 ? (values[0] as string) : null;
  };
  const [code, error, issuer] = [one('code'), one('error'), one('iss')];
  const isOneOfBoth = (code === null) !== (error === null);
  return one('state') === state && isOneOfBoth ? { code, error, issuer } : null;
}

async function listen(server: Server): Promise<AddressInfo> {
  for (const host of ['127.0.0.1', '::1']) {
    const { promise, resolve } = Promise.withResolvers<boolean>();
    server.once('error', () => resolve(false));
    server.listen(0, host, () => resolve(true));
    if (await promise) return server.address() as AddressInfo;
  }
  const sentence = 'No local port can be opened for the browser; use --no-browser to type a code instead.';
  throw new AppError('refused', sentence);
}

/** A page for the browser. */
type Page = { status: number; title: string; text: string };

const DONE: Page = {
  status: 200,
  title: 'Go back to the terminal',
  text: 'profilectl has received the answer. You can close this page and go back to the terminal.',
};

const STRANGE: Page = {
  status: REFUSALS.bad_request.status,
  title: 'Unexpected request',
  text: 'This is not the answer that profilectl is waiting for. Nothing was changed.',
};

const NOTHING: Page = {
  status: REFUSALS.unknown_path.status,
  title: 'Nothing here',
  text: REFUSALS.unknown_path.sentence,
};

/** Sends a page that loads nothing, repeats nothing of the request, and does not leak the code in a Referer header. */
function reply(response: ServerResponse, { status, title, text }: Page): void {
  response.writeHead(status, {
    'Content-Type': 'text/html; charset=utf-8',
    'Content-Security-Policy': "default-src 'none'; frame-ancestors 'none'",
    'Referrer-Policy': 'no-referrer',
    'Cache-Control': 'no-store',
    'X-Content-Type-Options': 'nosniff',
    Connection: 'close',
  });
  response.end(
    `<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>${title}</title><main><h1>${title}</h1><p>${text}</p></main></html>`,
  );
}
