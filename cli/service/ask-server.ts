import type { Command } from 'commander';
import { isoTime } from '../../shared/clock.ts';
import type { Config } from '../../shared/config/config.ts';
import { AppError } from '../../shared/errors.ts';
import { configOf, globalsOf } from '../context.ts';
import { ageText, counted, print, printJson } from '../terminal/output.ts';

// Requests from commands to the server on this machine.

const TIMEOUT_MS = 5_000;

/** The server's response. */
type ServerAnswer = { status: number; body: string };

/** The server's URL for commands on this machine: loopback if it listens on all addresses. Throws `usage`. */
function serverUrl({ host, port, tls }: Config, path: string): URL {
  if (port === 0) throw new AppError('usage', 'PORT is 0, so the port of the server is unknown; set PORT.');
  const reachable = { '0.0.0.0': '127.0.0.1', '::': '::1' }[host] ?? host;
  const written = reachable.includes(':') ? `[${reachable}]` : reachable;
  return new URL(`${tls === null ? 'http' : 'https'}://${written}:${port}${path}`);
}

/** Sends a GET request to the server on this machine. Throws `refused` if there is no response. */
async function askServer(url: URL, token: string | null = null): Promise<ServerAnswer> {
  const options = {
    // Not by a proxy that the environment names: the request does not leave this machine.
    proxy: false as never,
    // The certificate is for the public host, not for this address.
    tls: { rejectUnauthorized: false },
    redirect: 'manual',
    signal: AbortSignal.timeout(TIMEOUT_MS),
    ...(token !== null && { headers: { Authorization: `Bearer ${token}` } }),
  } as const;
  try {
    const answer = await fetch(url, options);
    return { status: answer.status, body: await answer.text() };
  } catch (cause) {
    throw new AppError('refused', `No server is responding at ${url.origin}.`, { cause });
  }
}

/** The state of the server. A field is null if the server was not asked or did not report it. */
export type ServerState = {
  running: boolean;
  url: string | null;
  ready: boolean | null;
  startedAt: string | null;
  requests: number | null;
};

const UNKNOWN = { url: null, ready: null, startedAt: null, requests: null };

/**
 * Asks the server about its state, and returns a warning if it does not respond as it should. `isServed` says whether a server
 * holds the lock of the database.
 */
export async function askState(config: Config, isServed: boolean): Promise<{ state: ServerState; warning: string[] }> {
  let state: ServerState = { running: isServed, ...UNKNOWN };
  if (!isServed) return { state, warning: [] };
  try {
    const url = serverUrl(config, '/readyz');
    const { status } = await askServer(url);
    state = { ...state, url: url.origin, ready: status === 200 };
    if (status !== 200) return { state, warning: [`The server is not ready: it responds with ${status}.`] };
    if (config.metricsToken !== null) state = { ...state, ...(await measure(config, config.metricsToken)) };
    return { state, warning: [] };
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    return { state, warning: [`A server is using the database, but doesn't answer: ${error.message}`] };
  }
}

/** Reads the server's metrics. */
async function measure(config: Config, token: string) {
  const { status, body } = await askServer(serverUrl(config, '/metrics'), token);
  if (status !== 200) {
    throw new AppError('refused', `/metrics answers ${status}; METRICS_TOKEN must be that of the server.`);
  }
  const started = /^process_start_time_seconds (\S+)$/m.exec(body)?.[1];
  return {
    startedAt: started === undefined ? null : isoTime(Math.round(Number(started) * 1000)),
    requests: apiRequests(body),
  };
}

/** The number of requests below /api that the server has answered. */
function apiRequests(metrics: string): number {
  const lines = metrics.matchAll(/^profile_lookup_http_requests_total\{route="\/api[^"]*",[^}]*\} (\S+)$/gm);
  return [...lines].reduce((sum, [, count]) => sum + Number(count), 0);
}

/** The state of the server as a line of `status`. */
export function serverText({ running, url, ready, startedAt, requests }: ServerState, nowMs: number): string {
  if (!running) return 'not running';
  const parts = [url === null ? 'running' : `running on ${url}`];
  if (ready !== null) parts.push(ready ? 'ready' : 'not ready');
  if (startedAt !== null) parts.push(`up for ${ageText(startedAt, nowMs)}`);
  if (requests !== null) parts.push(`${counted(requests, 'API request')} since then`);
  return parts.join(', ');
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
      const url = serverUrl(configOf(globals), '/readyz');
      await expectReady(url);
      if (globals.json) printJson({ status: 'ok' });
      else print(`The server at ${url.origin} is ready.`);
    });
}

/** Throws `refused`, with the reason, if the server is not ready. */
async function expectReady(url: URL): Promise<void> {
  const { status } = await askServer(url);
  if (status === FORBIDDEN) {
    const sentence = `The server at ${url.origin} refuses plain HTTP from this machine; add 127.0.0.1 to TRUSTED_PROXIES.`;
    throw new AppError('refused', sentence);
  }
  if (status !== 200)
    throw new AppError('refused', `The server at ${url.origin} is not ready: it responds with ${status}.`);
}
