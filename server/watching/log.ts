import { isoTime } from '../../shared/clock.ts';
import { LOG_LEVELS, type LogLevel } from '../../shared/config/config.ts';
import type { Exchange } from '../request/exchange.ts';

/** The server's log: one JSON object a line. What strangers wrote (paths, queries, headers) never gets in. */
export type Log = {
  request: (exchange: Exchange, route: string | null, status: number, milliseconds: number) => void;
  /** An event of the server itself, or the fault behind a request. */
  event: (level: 'info' | 'warn' | 'error', message: string, more?: { requestId?: string; cause?: unknown }) => void;
};

// The other methods are the client's words; these are the standard's (RFC 9110, section 9; RFC 5789).
const METHODS = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE', 'CONNECT']);

/** A log that gives its lines, from this level up, to `write`. */
export function createLog(level: LogLevel, nowMs: () => number, write: (line: string) => void): Log {
  const rank = LOG_LEVELS.indexOf(level);
  const isLogged = (of: LogLevel) => LOG_LEVELS.indexOf(of) >= rank && level !== 'silent';
  const logsRequests = isLogged('info');
  // Many lines share a millisecond.
  let lastMs = Number.NaN;
  let lastTime = '';
  function time(): string {
    const ms = nowMs();
    if (ms !== lastMs) {
      lastMs = ms;
      lastTime = isoTime(ms);
    }
    return lastTime;
  }
  return {
    request: ({ requestId, key, method, address }, route, status, milliseconds) => {
      if (!logsRequests) return;
      // Joined by hand, as every value's alphabet is known: this runs for each request.
      write(
        `{"time":"${time()}","level":"info","requestId":"${requestId}","key":${key === null ? null : `"${key.identifier}"`},"method":"${METHODS.has(method) ? method : 'OTHER'}","route":${route === null ? null : `"${route}"`},"status":${status},"milliseconds":${milliseconds.toFixed(3)},"address":"${address}"}\n`,
      );
    },
    event: (of, message, { requestId, cause } = {}) => {
      if (!isLogged(of)) return;
      const line = { time: time(), level: of, message, requestId, cause: cause && describe(cause) };
      write(`${JSON.stringify(line)}\n`);
    },
  };
}

/** An error and what caused it, without anything that looks like a secret or an e-mail address. */
function describe(cause: unknown): string {
  const parts: string[] = [];
  for (
    let error = cause;
    error !== undefined && parts.length < 4;
    error = error instanceof Error ? error.cause : undefined
  ) {
    parts.push(error instanceof Error ? (error.stack ?? error.message) : String(error));
  }
  return parts
    .join('\ncaused by ')
    .replace(/\bplk_([0-9A-Za-z]{1,8})[0-9A-Za-z_]*/g, 'plk_$1…')
    .replace(/[^\s@"'<>]+@[^\s@"'<>]+/g, '…@…')
    .slice(0, 4_000);
}
