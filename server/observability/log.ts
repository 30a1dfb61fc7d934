import { write } from 'node:fs';
import { promisify } from 'node:util';
import { isoTime, within } from '../../shared/clock.ts';
import { LOG_LEVELS, type LogLevel } from '../../shared/config/config.ts';

/** The facts of a request that are logged. */
type LoggedRequest = {
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
function describeFault(cause: unknown): string {
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
    .replace(/\b(pl[kp]_[0-9A-Za-z]{1,8})[0-9A-Za-z_]*/g, '$1…')
    .replace(/[^\s@"'<>]+@[^\s@"'<>]+/g, '…@…')
    .slice(0, 4_000);
}

/** Writes log lines in the background, so that no request waits for it. */
export type LogOutput = {
  /** Queues lines, each with its line break. */
  write: (lines: string) => void;
  /** Resolves when everything is written, when the log no longer has a reader, or after a second. */
  drain: () => Promise<void>;
};

/** How much may be queued while the reader doesn't read or the disk is full. Further lines are dropped; a line says how many. */
const MAX_WAITING_BYTES = 4 * 1024 * 1024;

/**
 * How long lines are gathered before they are sent. Writing each line alone would take as long as its request; a crash loses the
 * gathered ones.
 */
const GATHER_MS = 20;

const DRAIN_MS = 1_000;

/** The pauses before a retry: if the reader is slow, and if writing failed for another reason, such as a full disk. */
const SLOW_READER_MS = 20;
const RETRY_MS = 1_000;

/**
 * Writes to a file descriptor (1 is standard output), one batch after the other; lines are ignored once the log no longer has a
 * reader. The package sonic-boom 5.0.2 passed the tests of the log too, but needed the same code around it to gather and drop
 * lines, and took 1.12 times the processor time per line.
 */
export function openLogOutput(descriptor: number): LogOutput {
  let waiting = '';
  /** How many lines were dropped since lines were last sent. */
  let dropped = 0;
  let isClosed = false;
  /** The work on lines that are being gathered or sent. */
  let sending: Promise<void> | null = null;

  async function send(): Promise<void> {
    while (waiting !== '' && !isClosed) {
      await Bun.sleep(GATHER_MS);
      const lines = waiting + (dropped === 0 ? '' : noticeOf(dropped));
      waiting = '';
      dropped = 0;
      isClosed = !(await writeAll(descriptor, Buffer.from(lines)));
    }
    sending = null;
  }

  return {
    write: (lines) => {
      if (isClosed) return;
      if (waiting.length >= MAX_WAITING_BYTES) {
        dropped += lines.split('\n').length - 1;
        return;
      }
      waiting += lines;
      sending ??= send();
    },
    drain: async () => void (await within(sending ?? Promise.resolve(), DRAIN_MS)),
  };
}

const writePart = promisify(write);

/** Writes all bytes, retrying while the reader is slow or the disk is full; false if there is no reader any more. */
async function writeAll(descriptor: number, bytes: Buffer): Promise<boolean> {
  for (let from = 0; from < bytes.length; ) {
    try {
      // The rest is written first, so that no line stays half written.
      from += (await writePart(descriptor, bytes, from, bytes.length - from, null)).bytesWritten;
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if (code === 'EPIPE' || code === 'EBADF') return false;
      await Bun.sleep(code === 'EAGAIN' ? SLOW_READER_MS : RETRY_MS);
    }
  }
  return true;
}

function noticeOf(count: number): string {
  return `{"level":"warn","message":"${count} log lines were dropped because they could not be written."}\n`;
}
