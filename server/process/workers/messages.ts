import type { Config } from '../../../shared/config/config.ts';
import type { ErrorCode } from '../../../shared/errors.ts';
import type { Tally } from '../../../shared/keys/usage-outcomes.ts';
import type { SharedLimits } from '../../../shared/limits/threads/worker.ts';
import type { Counts } from '../../observability/counts.ts';
import type { Tls } from '../listener.ts';
import type { Connection } from '../portal-bridge.ts';

/** What a worker starts with: the same for all workers, except the number, which it writes into its locks. */
export type Start = {
  number: number;
  config: Config;
  port: number;
  tls: Tls;
  drainMs: number;
  /** Undefined for the default; see `BridgeParts`. */
  answerMs: number | undefined;
  limits: SharedLimits;
  throttle: SharedArrayBuffer;
  sendBuffers: SharedArrayBuffer;
  /** The command that imports a backend's profiles; null if they are not accepted. */
  feedCommand: readonly string[] | null;
};

/** An AppError as sent between threads. */
export type Fault = { code: ErrorCode; message: string };

/** An order to a worker, which answers with `done`. On `report` it sends its counts at once. */
export type Order =
  | { kind: 'start'; start: Start }
  | { kind: 'report' }
  | { kind: 'reload'; tls: Tls }
  | { kind: 'stop' };

/**
 * A message to a worker: an order with its number; that the log lines it sent last were written; the metrics that it requested
 * (null after an error, which the main thread has logged); the port that it requested to the portal's thread (null if that has
 * just died); or that this thread has ended.
 */
export type ToWorker =
  | { kind: 'order'; id: number; order: Order }
  | { kind: 'logged' }
  | { kind: 'metrics'; id: number; text: string | null }
  | { kind: 'portal'; connection: Connection | null }
  | { kind: 'portal ended' };

/**
 * A message from a worker: the outcome of an order, log lines, the counts since its last report, a request for the metrics of
 * all workers or for a port to the portal's thread, or that the portal's thread with this number hangs.
 */
export type FromWorker =
  | { kind: 'done'; id: number; fault: Fault | null }
  | { kind: 'log'; lines: string }
  | { kind: 'report'; usage: Tally[]; counts: Counts }
  | { kind: 'metrics'; id: number }
  | { kind: 'portal' }
  | { kind: 'portal hangs'; thread: number };
