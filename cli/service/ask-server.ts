import type { Command } from 'commander';
import type { Config } from '../../shared/config/config.ts';
import { AppError } from '../../shared/errors.ts';
import { configOf, globalsOf } from '../context.ts';
import { print, printJson } from '../terminal/output.ts';

// Requests from commands to the server on this machine.

const TIMEOUT_MS = 5_000;

/** The server's /readyz for commands on this machine: loopback if it listens on all addresses. Throws `usage`. */
function readyUrl({ host, port, tls }: Config): URL {
  if (port === 0) throw new AppError('usage', 'PORT is 0, so the port of the server is unknown; set PORT.');
  const reachable = { '0.0.0.0': '127.0.0.1', '::': '::1' }[host] ?? host;
  const written = reachable.includes(':') ? `[${reachable}]` : reachable;
  return new URL(`${tls === null ? 'http' : 'https'}://${written}:${port}/readyz`);
}

/** Asks the server on this machine whether it is ready, and returns the status. Throws `refused` if there is no response. */
async function askReady(url: URL): Promise<number> {
  const options = {
    // Not by a proxy that the environment names: the request does not leave this machine.
    proxy: false as never,
    // The certificate is for the public host, not for this address.
    tls: { rejectUnauthorized: false },
    redirect: 'manual',
    signal: AbortSignal.timeout(TIMEOUT_MS),
  } as const;
  try {
    return (await fetch(url, options)).status;
  } catch (cause) {
    throw new AppError('refused', `No server is responding at ${url.origin}.`, { cause });
  }
}

/** The state of the server. `url` and `ready` are null if it was not asked or did not respond. */
export type ServerState = { running: boolean; url: string | null; ready: boolean | null };

/**
 * Asks the server about its state, and returns a warning if it does not respond as it should. `isServed` says whether a server
 * holds the lock of the database.
 */
export async function askState(config: Config, isServed: boolean): Promise<{ state: ServerState; warning: string[] }> {
  const unknown = { running: isServed, url: null, ready: null };
  if (!isServed) return { state: unknown, warning: [] };
  try {
    const url = readyUrl(config);
    const status = await askReady(url);
    const warning = status === 200 ? [] : [`The server is not ready: it responds with ${status}.`];
    return { state: { running: true, url: url.origin, ready: status === 200 }, warning };
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    return { state: unknown, warning: [`A server is using the database, but doesn't answer: ${error.message}`] };
  }
}

/** The state of the server as a line of `status`. */
export function serverText({ running, url, ready }: ServerState): string {
  if (!running) return 'not running';
  const place = url === null ? 'running' : `running on ${url}`;
  return ready === null ? place : `${place}, ${ready ? 'ready' : 'not ready'}`;
}

const FORBIDDEN = 403;

/** Adds `healthcheck`, which asks the server on this machine whether it is ready, for containers. */
export function addHealthcheck(program: Command): void {
  program
    .command('healthcheck')
    .description('Ask the server whether it is ready; exit code 0 if so, 1 if not.')
    .addHelpText(
      'after',
      `
Reads HOST, PORT and TLS_CERT_FILE as "serve" does.

Example:
  profilectl healthcheck`,
    )
    .action(async (_options: unknown, command: Command) => {
      const globals = globalsOf(command);
      const url = readyUrl(configOf(globals));
      await expectReady(url);
      if (globals.json) printJson({ status: 'ok' });
      else print(`The server at ${url.origin} is ready.`);
    });
}

/** Throws `refused`, with the reason, if the server is not ready. */
async function expectReady(url: URL): Promise<void> {
  const status = await askReady(url);
  if (status === FORBIDDEN) {
    const sentence = `The server at ${url.origin} refuses plain HTTP from this machine; add 127.0.0.1 to TRUSTED_PROXIES.`;
    throw new AppError('refused', sentence);
  }
  if (status !== 200)
    throw new AppError('refused', `The server at ${url.origin} is not ready: it responds with ${status}.`);
}
