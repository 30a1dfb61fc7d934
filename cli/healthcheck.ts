import { request as requestHttp } from 'node:http';
import { request as requestHttps } from 'node:https';
import type { Command } from 'commander';
import type { Config } from '../shared/config.ts';
import { AppError } from '../shared/errors.ts';
import { configOf, globalsOf } from './context.ts';
import { print, printJson } from './output.ts';

const PATIENCE_MS = 5_000;

const FORBIDDEN = 403;

/** `healthcheck`: asks the server that these variables describe whether it is ready, as a container's engine does. */
export function addHealthcheck(parent: Command): void {
  parent
    .command('healthcheck')
    .description('Ask the running server whether it is ready: 0 if so, 1 if not.')
    .addHelpText('after', '\nIt reads the same variables as "serve" (HOST, PORT, TLS_CERT_FILE) and opens no database.')
    .action(async (_options: unknown, command: Command) => {
      const globals = globalsOf(command);
      const url = addressOf(configOf(globals));
      await expectReady(url);
      if (globals.json) printJson({ status: 'ok' });
      else print(`The server on ${url.origin} is ready.`);
    });
}

/** Where this machine reaches the server; a server on all addresses is asked on loopback. Throws `usage`. */
function addressOf({ host, port, tls }: Config): URL {
  if (port === 0) throw new AppError('usage', 'PORT is 0: nobody knows which port the server got; set it.');
  const reachable = { '0.0.0.0': '127.0.0.1', '::': '::1' }[host] ?? host;
  const written = reachable.includes(':') ? `[${reachable}]` : reachable;
  return new URL(`${tls === null ? 'http' : 'https'}://${written}:${port}/readyz`);
}

/** Throws `refused` with what is wrong. Not by `fetch`, which would ask a proxy of the environment. */
async function expectReady(url: URL): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  // The certificate names the public host, not this address. The question stays on this machine and holds no secret.
  const options = { rejectUnauthorized: false, agent: false, signal: AbortSignal.timeout(PATIENCE_MS) } as const;
  const ask = url.protocol === 'https:' ? requestHttps : requestHttp;
  ask(url, options, (answer) => {
    answer.resume();
    resolve(answer.statusCode ?? 0);
  })
    .on('error', reject)
    .end();
  const status = await promise.catch((cause) => {
    throw new AppError('refused', `No server answers on ${url.origin}.`, { cause });
  });
  if (status === FORBIDDEN) {
    const sentence = `The server on ${url.origin} refuses plain HTTP from this machine; add 127.0.0.1 to TRUSTED_PROXIES.`;
    throw new AppError('refused', sentence);
  }
  if (status !== 200) throw new AppError('refused', `The server on ${url.origin} is not ready: it answers ${status}.`);
}
