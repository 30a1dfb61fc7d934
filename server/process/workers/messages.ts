import type { Config } from '../../../shared/config/config.ts';
import type { ErrorCode } from '../../../shared/errors.ts';
import type { Tally } from '../../../shared/keys/tally.ts';
import type { SharedLimits } from '../../../shared/limits/threads/worker.ts';
import type { Counts } from '../../watching/counts.ts';
import type { Tls } from '../listener.ts';

/** What a worker needs to serve: the same for all of them but for its number, which is what its locks show. */
export type Start = {
  number: number;
  config: Config;
  port: number;
  tls: Tls;
  drainMs: number;
  limits: SharedLimits;
  throttle: SharedArrayBuffer;
  unsent: SharedArrayBuffer;
};

/** An AppError between threads. */
export type Fault = { code: ErrorCode; message: string };

/** What a worker is asked to do; it answers each with `done`. `report` is to send at once what it has counted. */
export type Order =
  | { kind: 'start'; start: Start }
  | { kind: 'report' }
  | { kind: 'reload'; tls: Tls }
  | { kind: 'stop' };

/** To a worker: an order with its number, or the answer to what it sent. */
export type ToWorker =
  | { kind: 'order'; id: number; order: Order }
  | { kind: 'logged' }
  | { kind: 'metrics'; id: number; text: string | null };

/** From a worker. `metrics` asks for the text of all workers' metrics; null is a fault, which is logged. */
export type FromWorker =
  | { kind: 'done'; id: number; fault: Fault | null }
  | { kind: 'log'; lines: string }
  | { kind: 'report'; usage: Tally[]; counts: Counts }
  | { kind: 'metrics'; id: number };
