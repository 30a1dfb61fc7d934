import { isoTime } from '../../shared/clock.ts';
import type { Config } from '../../shared/config/config.ts';
import { AppError } from '../../shared/errors.ts';
import { ageText, counted } from '../terminal/output.ts';
import { askServer, serverUrl } from './ask-server.ts';

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
 * holds the lock of the database; if null (unknown), the server counts as running if it responds.
 */
export async function askState(
  config: Config,
  isServed: boolean | null,
): Promise<{ state: ServerState; warning: string[] }> {
  let state: ServerState = { running: isServed !== false, ...UNKNOWN };
  if (isServed === false) return { state, warning: [] };
  try {
    const url = serverUrl(config, '/readyz');
    const { status } = await askServer(url);
    state = { ...state, url: url.origin, ready: status === 200 };
    if (status !== 200) return { state, warning: [`The server is not ready: it responds with ${status}.`] };
    if (config.metricsToken !== null) state = { ...state, ...(await measure(config, config.metricsToken)) };
    return { state, warning: [] };
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    if (isServed === null) return { state: { running: false, ...UNKNOWN }, warning: [] };
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
