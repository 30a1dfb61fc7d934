import { type Clock, within } from '../../../shared/clock.ts';
import type { AppError } from '../../../shared/errors.ts';
import type { Log } from '../../observability/log.ts';
import type { FromWorker, Order, Start } from './messages.ts';
import { giveOrder, serveWith, startWorker, type WorkerHandle } from './worker-handle.ts';

/** The workers of a server. A dead worker is replaced by a new one with the same number. */
export type WorkerPool = {
  readonly options: PoolOptions;
  /** The running and starting workers, by their number. */
  readonly workers: Map<number, WorkerHandle>;
  /** How many workers have died while they served. */
  restarts: number;
  /** Once true, no worker is replaced. */
  isStopping: boolean;
  /** How many replacements in a row failed to start. */
  failedStarts: number;
  /** When a worker last died or failed to start, by the monotonic clock. */
  diedAtMs: number;
  /** How long the pool waited before the last replacement. */
  pauseMs: number;
};

/** The options of a pool. */
export type PoolOptions = {
  count: number;
  clock: Clock;
  log: Log;
  /** Called for each start, because the certificate may have changed. */
  startOf: (number: number) => Start;
  /** Called with each message of a worker, except the outcomes of orders. */
  onMessage: (handle: WorkerHandle, message: FromWorker) => void;
  /** Called with the number of a dead worker before it is replaced, to free its locks. */
  onDeath: (number: number) => void;
  /** Called when {@link MAX_FAILED_STARTS} replacements in a row have failed to start. The pool then replaces no more. */
  onGiveUp: (cause: unknown) => void;
  /** For tests: called with each worker that is started. */
  onWorker?: ((worker: Worker, number: number) => void) | undefined;
};

/** A worker that dies within this time after another one did is replaced after a pause, which doubles each time. */
const STEADY_MS = 10_000;
const FIRST_PAUSE_MS = 100;
const MAX_PAUSE_MS = 5_000;
const MAX_FAILED_STARTS = 5;

/** A pool without workers; {@link startPool} starts them. */
export function createPool(options: PoolOptions): WorkerPool {
  return {
    options,
    workers: new Map(),
    restarts: 0,
    isStopping: false,
    failedStarts: 0,
    diedAtMs: Number.NEGATIVE_INFINITY,
    pauseMs: 0,
  };
}

/** Starts all workers. If any fails to start, ends all and throws the first error. */
export async function startPool(pool: WorkerPool): Promise<void> {
  const numbers = Array.from({ length: pool.options.count }, (_, index) => index + 1);
  const outcomes = await Promise.allSettled(numbers.map((number) => startOne(pool, number)));
  for (const outcome of outcomes) {
    if (outcome.status === 'fulfilled') continue;
    await stopPool(pool, 0);
    throw outcome.reason as AppError;
  }
}

/** Waits until all serving workers have carried out an order, then throws the first error. */
export async function orderAll(pool: WorkerPool, order: Order): Promise<void> {
  const serving = [...pool.workers.values()].filter(({ isServing }) => isServing);
  const outcomes = await Promise.allSettled(serving.map((handle) => giveOrder(handle, order)));
  for (const outcome of outcomes) if (outcome.status === 'rejected') throw outcome.reason as AppError;
}

/** Orders all workers to stop, and ends those that have not stopped after `patienceMs`. */
export async function stopPool(pool: WorkerPool, patienceMs: number): Promise<void> {
  pool.isStopping = true;
  const stopped = orderAll(pool, { kind: 'stop' }).catch((cause) =>
    pool.options.log.event('error', 'A worker did not stop.', { cause }),
  );
  await within(stopped, patienceMs);
  const left = [...pool.workers.values()];
  for (const { worker } of left) worker.terminate();
  await Promise.all(left.map(({ ended }) => ended));
}

async function startOne(pool: WorkerPool, number: number): Promise<void> {
  const { startOf, onMessage, onWorker } = pool.options;
  const handle = startWorker(number, onMessage);
  pool.workers.set(number, handle);
  onWorker?.(handle.worker, number);
  try {
    const start = startOf(number);
    await serveWith(handle, start);
    // The certificate may have changed while the worker started with the old one.
    const { tls } = startOf(number);
    if (tls !== null && tls !== start.tls) await giveOrder(handle, { kind: 'reload', tls });
  } catch (error) {
    handle.worker.terminate();
    await handle.ended;
    throw error;
  }
  pool.failedStarts = 0;
  void handle.ended.then(() => replace(pool, handle));
}

/** Starts replacements of a dead worker until one serves, the pool stops, or too many have failed to start. */
async function replace(pool: WorkerPool, { number, lastError }: WorkerHandle): Promise<void> {
  const { log, onGiveUp } = pool.options;
  remove(pool, number);
  if (pool.isStopping) return;
  log.event('error', `Worker ${number} died and is replaced.`, lastError === null ? {} : { cause: lastError });
  pool.restarts++;
  while (!pool.isStopping) {
    await Bun.sleep(nextPauseMs(pool));
    if (pool.isStopping) return;
    try {
      await startOne(pool, number);
      if (!pool.isStopping) log.event('info', `Worker ${number} is serving again.`);
      return;
    } catch (cause) {
      remove(pool, number);
      if (pool.isStopping) return;
      log.event('error', `Worker ${number} could not be started.`, { cause });
      pool.failedStarts++;
      if (pool.failedStarts >= MAX_FAILED_STARTS) return onGiveUp(cause);
    }
  }
}

function remove(pool: WorkerPool, number: number): void {
  pool.options.onDeath(number);
  pool.workers.delete(number);
}

/** The milliseconds to wait before the next replacement; 0 if the last death is long ago. */
function nextPauseMs(pool: WorkerPool): number {
  const nowMs = pool.options.clock.monotonicMs();
  const doubled = Math.min(MAX_PAUSE_MS, Math.max(FIRST_PAUSE_MS, 2 * pool.pauseMs));
  pool.pauseMs = nowMs - pool.diedAtMs > STEADY_MS ? 0 : doubled;
  pool.diedAtMs = nowMs;
  return pool.pauseMs;
}
