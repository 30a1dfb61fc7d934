import type { Config } from '../../../shared/config/config.ts';
import type { ErrorCode } from '../../../shared/errors.ts';
import type { Tally } from '../../../shared/keys/usage-outcomes.ts';
import type { SharedLimits } from '../../../shared/limits/threads/worker.ts';
import type { Counts } from '../../observability/counts.ts';
import type { Tls } from '../listener.ts';
import type { Connection } from '../portal-bridge.ts';

/** What a worker starts with. All of it is the same for all workers, but for the number, which the worker writes into its locks. */
export type Start = {
  number: number;
  config: Config;
  port: number;
  tls: Tls;
  drainMs: number;
  /** How long a page may take, in milliseconds, where that is not as usual. */
  answerMs: number | undefined;
  limits: SharedLimits;
  throttle: SharedArrayBuffer;
  sendBuffers: SharedArrayBuffer;
  /** The words of the command that puts profiles of a platform in, or null. */
  feedWords: readonly string[] | null;
};

/** An AppError, as it is sent between threads. */
export type Fault = { code: ErrorCode; message: string };

/** What a worker is to do; it answers each order with `done`. `report` asks it to send at once what it has counted. */
export type Order =
  | { kind: 'start'; start: Start }
  | { kind: 'report' }
  | { kind: 'reload'; tls: Tls }
  | { kind: 'stop' };

/**
 * A message to a worker: an order with its number; the notice that the log lines which it sent last were written; the text
 * of the metrics that it has asked for (null where there was a fault, which the main thread has logged); or the port to the
 * portal's thread that it has asked for (null where that has just died), and later the notice that this thread has ended.
 */
export type ToWorker =
  | { kind: 'order'; id: number; order: Order }
  | { kind: 'logged' }
  | { kind: 'metrics'; id: number; text: string | null }
  | { kind: 'portal'; connection: Connection | null }
  | { kind: 'portal ended' };

/**
 * A message from a worker: the end of an order, log lines, what it has counted since its last report, a request for the text
 * of all workers' metrics, a request for a port to the portal's thread, or that the thread of this number hangs.
 */
export type FromWorker =
  | { kind: 'done'; id: number; fault: Fault | null }
  | { kind: 'log'; lines: string }
  | { kind: 'report'; usage: Tally[]; counts: Counts }
  | { kind: 'metrics'; id: number }
  | { kind: 'portal' }
  | { kind: 'portal hangs'; thread: number };
