import type { ServerDeps } from '../../../shared/deps.ts';
import type { Report } from '../../../shared/limits/ledger.ts';
import { openMainThreadLimits } from '../../../shared/limits/threads/main-thread.ts';
import { openUsage } from '../../../shared/usage/usage.ts';
import { createThrottleMemory, freeThrottleLocksOf } from '../../request/throttle.ts';
import { createUnsentMemory, freeUnsentOf } from '../../request/unsent.ts';
import type { Log } from '../../watching/log.ts';
import type { LogOutput } from '../../watching/log-output.ts';
import type { Crew } from './crew.ts';
import type { Member } from './member.ts';
import type { FromWorker, Start } from './messages.ts';

/** What there is once for all workers: the shared memory, the quota file, usage, metrics and the log's output. */
export type Keeper = {
  /** What each worker starts with. */
  shared: Pick<Start, 'limits' | 'throttle' | 'unsent'>;
  /** Takes what a worker sends. */
  hear: (crew: Crew | null, member: Member, message: FromWorker) => void;
  /** Frees what the worker of this number held when it died. */
  bury: (number: number) => void;
  /** Writes down quotas and usage. */
  close: () => void;
};

/** How long a worker may take to say what it has counted before /metrics goes without it. */
const REPORT_MS = 1_000;

/** Opens it on a clock that all threads share. `restarts` says how many workers were replaced. */
export async function openKeeper(
  deps: ServerDeps,
  output: LogOutput,
  log: Log,
  restarts: () => number,
): Promise<Keeper> {
  const { clock, config } = deps;
  const report: Report = (level, message, cause) => log.event(level, message, { cause });
  const metrics =
    config.metricsToken === null ? null : (await import('../../watching/metrics.ts')).createMetrics(deps, restarts);
  const throttle = createThrottleMemory(deps.random);
  const unsent = createUnsentMemory(config.workers);
  const limits = openMainThreadLimits(config.databasePath, clock, report, config.workers + 1);
  const usage = openUsage(config.databasePath, clock, report);

  async function readMetrics(crew: Crew | null): Promise<string | null> {
    const patience = Promise.withResolvers<void>();
    const timer = setTimeout(patience.resolve, REPORT_MS);
    try {
      await Promise.race([crew?.orderAll({ kind: 'report' }), patience.promise]);
      return (await metrics?.read()) ?? null;
    } catch (cause) {
      log.event('error', 'The metrics could not be read.', { cause });
      return null;
    } finally {
      clearTimeout(timer);
    }
  }

  return {
    shared: { limits: limits.shared, throttle, unsent },
    hear: (crew, member, message) => {
      if (message.kind === 'log') {
        output.write(message.lines);
        member.tell({ kind: 'logged' });
      } else if (message.kind === 'report') {
        usage.add(message.usage);
        metrics?.add(message.counts);
      } else if (message.kind === 'metrics') {
        const { id } = message;
        void readMetrics(crew).then((text) => member.tell({ kind: 'metrics', id, text }));
      }
    },
    bury: (number) => {
      limits.freeLocksOf(number);
      freeThrottleLocksOf(throttle, number);
      freeUnsentOf(unsent, number - 1);
    },
    close: () => {
      limits.close();
      usage.close();
    },
  };
}
