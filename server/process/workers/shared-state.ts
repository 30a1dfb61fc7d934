import { within } from '../../../shared/clock.ts';
import type { ServerDeps } from '../../../shared/deps.ts';
import type { Report } from '../../../shared/limits/ledger.ts';
import { type MainThreadLimits, openMainThreadLimits } from '../../../shared/limits/threads/main-thread.ts';
import { closeUsage, openUsage, type Usage } from '../../../shared/usage/usage.ts';
import { addUsage } from '../../../shared/usage/usage-counter.ts';
import { createSendBufferMemory, freeSendBuffersOf } from '../../http/send-buffer-limit.ts';
import { createThrottleMemory, freeThrottleLocksOf } from '../../http/throttle.ts';
import type { Log, LogOutput } from '../../observability/log.ts';
import type { TotalMetrics } from '../../observability/metrics.ts';
import type { PortalHandle } from '../portal-handle.ts';
import type { FromWorker, Start } from './messages.ts';
import { post, type WorkerHandle } from './worker-handle.ts';
import { orderAll, type WorkerPool } from './worker-pool.ts';

/** The state of the main thread that all workers share. */
export type SharedState = {
  readonly memory: Pick<Start, 'limits' | 'throttle' | 'sendBuffers'>;
  readonly limits: MainThreadLimits;
  readonly usage: Usage;
  /** Null while METRICS_TOKEN is unset. */
  readonly metrics: TotalMetrics | null;
  readonly portal: PortalHandle;
  readonly output: LogOutput;
  readonly log: Log;
};

/** How long /metrics waits for the counts of the workers. */
const REPORT_MS = 1_000;

/**
 * Opens the quotas and the usage counts, and allocates the shared memory. All threads must use the clock of `deps`. `restarts`
 * returns how many workers were replaced.
 */
export async function openSharedState(
  deps: ServerDeps,
  output: LogOutput,
  log: Log,
  portal: PortalHandle,
  restarts: () => number,
): Promise<SharedState> {
  const { clock, config } = deps;
  const report: Report = (level, message, cause) => log.event(level, message, { cause });
  const metrics =
    config.metricsToken === null
      ? null
      : (await import('../../observability/metrics.ts')).createMetrics(deps, restarts);
  const throttle = createThrottleMemory(deps.random);
  const sendBuffers = createSendBufferMemory(config.workers);
  const limits = openMainThreadLimits(config.databasePath, clock, report, config.workers + 1);
  const usage = openUsage(config.databasePath, clock, report);
  return { memory: { limits: limits.shared, throttle, sendBuffers }, limits, usage, metrics, portal, output, log };
}

/**
 * Handles a worker's message: writes its log lines, adds its counts, sends it the metrics or a port, or ends the portal's
 * thread if that hangs.
 */
export function onMessage(state: SharedState, pool: WorkerPool, handle: WorkerHandle, message: FromWorker): void {
  if (message.kind === 'log') {
    state.output.write(message.lines);
    post(handle, { kind: 'logged' });
  } else if (message.kind === 'report') {
    addUsage(state.usage.counter, message.usage);
    state.metrics?.add(message.counts);
  } else if (message.kind === 'metrics') {
    const { id } = message;
    void readMetrics(state, pool).then((text) => post(handle, { kind: 'metrics', id, text }));
  } else if (message.kind === 'portal') sendPort(state.portal, handle);
  else if (message.kind === 'portal hangs') state.portal.end(message.thread);
}

/** Sends a worker its own port to the portal's thread; null if that has just ended and may not be restarted yet. */
function sendPort(portal: PortalHandle, handle: WorkerHandle): void {
  try {
    const connection = portal.connect(() => post(handle, { kind: 'portal ended' }));
    post(handle, { kind: 'portal', connection }, [connection.port]);
  } catch {
    post(handle, { kind: 'portal', connection: null });
  }
}

/** Frees the locks and the unread bytes that the worker with this number held when it died. */
export function freeLocks({ limits, memory }: SharedState, number: number): void {
  limits.freeLocksOf(number);
  freeThrottleLocksOf(memory.throttle, number);
  freeSendBuffersOf(memory.sendBuffers, number - 1);
}

/** Writes the quotas and the usage, and closes both. */
export function closeSharedState({ limits, usage }: SharedState): void {
  limits.close();
  closeUsage(usage);
}

/** The metrics of all workers as text; null while METRICS_TOKEN is unset, and after an error, which is logged. */
async function readMetrics({ metrics, log }: SharedState, pool: WorkerPool): Promise<string | null> {
  try {
    await within(orderAll(pool, { kind: 'report' }), REPORT_MS);
    return (await metrics?.read()) ?? null;
  } catch (cause) {
    log.event('error', 'The metrics could not be read.', { cause });
    return null;
  }
}
