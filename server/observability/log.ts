import { isoTime } from '../../shared/clock.ts';
import { LOG_LEVELS, type LogLevel } from '../../shared/config/log-levels.ts';

/** The facts of a request that are logged. */
export type LoggedRequest = {
  readonly requestId: string;
  readonly key: { readonly identifier: string } | null;
  readonly method: string;
  /** The path of the request's route; null if no route matches. */
  readonly template: string | null;
  /** The client's IP address. */
  readonly address: string;
};

/** The server's log: one JSON object per line, never with text that clients sent (paths, queries, headers). */
export type Log = {
  /** Logs a response and how long it took. */
  request: (request: LoggedRequest, status: number, milliseconds: number) => void;
  /** Logs an event of the server, or the error behind a failed request. */
  event: (level: 'info' | 'warn' | 'error', message: string, more?: { requestId?: string; cause?: unknown }) => void;
};

// The standard methods (RFC 9110, section 9; RFC 5789). Other methods are the client's own text, which is never logged.
const METHODS = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE', 'CONNECT']);

type LogState = {
  readonly level: LogLevel;
  readonly nowMs: () => number;
  readonly write: (line: string) => void;
  /** The time of the last line and its text, which is reused because many lines have the same millisecond. */
  lastMs: number;
  lastTime: string;
};

/** A shorthand for logging events with their cause and the id of their request. */
export function reportTo({ event }: Log) {
  return (level: 'info' | 'warn' | 'error', message: string, cause?: unknown, requestId?: string): void =>
    event(level, message, { cause, ...(requestId !== undefined && { requestId }) });
}

/** Creates a log that passes lines of at least this level to `write`. */
export function createLog(level: LogLevel, nowMs: () => number, write: (line: string) => void): Log {
  const state: LogState = { level, nowMs, write, lastMs: Number.NaN, lastTime: '' };
  const logsRequests = isLogged(state, 'info');
  return {
    request: (request, status, milliseconds) => {
      if (logsRequests) write(requestLine(state, request, status, milliseconds));
    },
    event: (of, message, { requestId, cause } = {}) => {
      if (!isLogged(state, of)) return;
      const line = { time: timeOf(state), level: of, message, requestId, cause: cause && describeFault(cause) };
      write(`${JSON.stringify(line)}\n`);
    },
  };
}

function isLogged({ level }: LogState, of: LogLevel): boolean {
  return level !== 'silent' && LOG_LEVELS.indexOf(of) >= LOG_LEVELS.indexOf(level);
}

/** Concatenation is faster than JSON.stringify, and no value needs escaping. */
function requestLine(
  state: LogState,
  { requestId, key, method, template, address }: LoggedRequest,
  status: number,
  milliseconds: number,
): string {
  return `{"time":"${timeOf(state)}","level":"info","requestId":"${requestId}","key":${key === null ? null : `"${key.identifier}"`},"method":"${METHODS.has(method) ? method : 'OTHER'}","route":${template === null ? null : `"${template}"`},"status":${status},"milliseconds":${milliseconds.toFixed(3)},"address":"${address}"}\n`;
}

function timeOf(state: LogState): string {
  const ms = state.nowMs();
  if (ms !== state.lastMs) {
    state.lastMs = ms;
    state.lastTime = isoTime(ms);
  }
  return state.lastTime;
}

/** The text of an error and its causes; removes anything that looks like a secret or an e-mail address. */
export function describeFault(cause: unknown): string {
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
    .replace(/\b(pl[kpt]_[0-9A-Za-z]{1,8})[0-9A-Za-z_]*/g, '$1…')
    .replace(/[^\s@"'<>]+@[^\s@"'<>]+/g, '…@…')
    .slice(0, 4_000);
}
