import { request as requestHttp } from 'node:http';
import { request as requestHttps } from 'node:https';
import type { Config } from '../shared/config/config.ts';
import { AppError } from '../shared/errors.ts';

// How commands speak to the server that runs beside them.

const PATIENCE_MS = 5_000;

/** What the server answered. */
export type ServerAnswer = { status: number; body: string };

/** Where this machine reaches the server; a server on all addresses is asked on loopback. Throws `usage`. */
export function serverUrl({ host, port, tls }: Config, path: string): URL {
  if (port === 0) throw new AppError('usage', 'PORT is 0: nobody knows which port the server got; set it.');
  const reachable = { '0.0.0.0': '127.0.0.1', '::': '::1' }[host] ?? host;
  const written = reachable.includes(':') ? `[${reachable}]` : reachable;
  return new URL(`${tls === null ? 'http' : 'https'}://${written}:${port}${path}`);
}

/**
 * Asks the server of this machine, with a token where one is given. Throws `refused` where nobody answers. Not by
 * `fetch`, which would ask a proxy of the environment.
 */
export async function askServer(url: URL, token: string | null = null): Promise<ServerAnswer> {
  const { promise, resolve, reject } = Promise.withResolvers<ServerAnswer>();
  const options = {
    // The certificate names the public host, not this address, and the question stays on this machine.
    rejectUnauthorized: false,
    agent: false,
    signal: AbortSignal.timeout(PATIENCE_MS),
    ...(token !== null && { headers: { Authorization: `Bearer ${token}` } }),
  } as const;
  const ask = url.protocol === 'https:' ? requestHttps : requestHttp;
  ask(url, options, (answer) => {
    let body = '';
    answer.setEncoding('utf8');
    answer
      .on('data', (chunk: string) => {
        body += chunk;
      })
      .on('end', () => resolve({ status: answer.statusCode ?? 0, body }))
      .on('error', reject);
  })
    .on('error', reject)
    .end();
  return promise.catch((cause) => {
    throw new AppError('refused', `No server answers on ${url.origin}.`, { cause });
  });
}
