import { openThreadClock } from '../../shared/clock.ts';
import type { Deps } from '../../shared/deps.ts';
import { AppError } from '../../shared/errors.ts';
import { createSharedBuffers, freeLocksOf, openAccountMemory } from '../../shared/keys/account-memory.ts';
import { closeLedger } from '../../shared/keys/quota-file.ts';
import { openLedger, type Report } from '../../shared/keys/quota-ledger.ts';
import { openUsage } from '../../shared/keys/usage.ts';
import { probePort, readTls, STOP_MS, urlOf } from '../listener.ts';
import { createLog } from '../log.ts';
import type { LogOutput } from '../log-output.ts';
import type { RunningServer, ServerOptions } from '../main.ts';
import { startReminding } from '../reminding.ts';
import { checkTransport } from '../transport.ts';
import { type Crew, startCrew } from './crew.ts';
import type { Member } from './member.ts';
import type { FromWorker } from './messages.ts';
import { createThrottleMemory, freeThrottleLocksOf } from './throttle.ts';

// The main thread where WORKERS is more than 1: it answers no request. It keeps what is there once (the quota file, usage,
// reminders, the log's output) and the workers, and tells them when to stop.

/** How long a worker may take to say what it has counted before /metrics goes without it. */
const REPORT_MS = 1_000;

/** How many milliseconds the main thread waits for a worker's lock: it has to hear of a death, to free it. */
const MOST_NAPS = 20;

/** Beyond what requests in flight may take. */
const GRACE_MS = 2_000;

/** Starts the workers on one port. Throws what a single server throws. `release` is called when all has stopped. */
export async function startWorkers(
  given: Deps,
  options: ServerOptions,
  output: LogOutput,
  release: () => void,
): Promise<RunningServer> {
  checkTransport(given.config);
  let tls = readTls(given.config);
  const port = probePort(given.config, options.port ?? given.config.port, tls);
  const url = urlOf(given.config, port);
  const publicUrl = given.config.publicUrl.endsWith(':0') ? url : given.config.publicUrl;
  const clock = await openThreadClock();
  const deps = { ...given, clock, config: { ...given.config, publicUrl } };
  const { config } = deps;
  const log = createLog(config.logLevel, clock.nowMs, output.write);
  const report: Report = (level, message, cause) => log.event(level, message, { cause });
  const accounts = createSharedBuffers();
  const throttle = createThrottleMemory();
  const memory = openAccountMemory(accounts, config.workers + 1, MOST_NAPS);
  const ledger = openLedger(config.databasePath, clock, report, memory);
  const usage = openUsage(config.databasePath, clock, report);
  const failed = Promise.withResolvers<AppError>();
  let crew: Crew | null = null;
  const metrics = config.metricsToken === null ? null : (await import('../metrics.ts')).createMetrics(deps, restarts);

  function restarts(): number {
    return crew?.restarts() ?? 0;
  }

  function hear(member: Member, message: FromWorker): void {
    if (message.kind === 'log') {
      output.write(message.lines);
      member.tell({ kind: 'logged' });
    } else if (message.kind === 'report') {
      usage.add(message.usage);
      metrics?.add(message.counts);
    } else if (message.kind === 'metrics') void readMetrics(member, message.id);
  }

  async function readMetrics(asker: Member, id: number): Promise<void> {
    const patience = Promise.withResolvers<void>();
    const timer = setTimeout(patience.resolve, REPORT_MS);
    try {
      await Promise.race([crew?.orderAll({ kind: 'report' }), patience.promise]);
      asker.tell({ kind: 'metrics', id, text: (await metrics?.read()) ?? null });
    } catch (cause) {
      log.event('error', 'The metrics could not be read.', { cause });
      asker.tell({ kind: 'metrics', id, text: null });
    }
    clearTimeout(timer);
  }

  function close(): void {
    closeLedger(ledger);
    usage.close();
  }

  try {
    crew = await startCrew({
      count: config.workers,
      clock,
      startOf: (number) => ({ number, config, port, tls, accounts, throttle, timeline: ledger.timeline }),
      hear,
      log,
      onDeath: (number) => {
        freeLocksOf(memory, number);
        freeThrottleLocksOf(throttle, number);
      },
      onGiveUp: (cause) => {
        failed.resolve(
          new AppError('refused', 'Workers die as soon as they are started; the log says why.', { cause }),
        );
      },
      onWorker: options.onWorker,
    });
  } catch (error) {
    close();
    throw error;
  }
  log.event('info', `Listening on ${url}.`);
  const reminding = startReminding({ deps, log });
  let stopped: Promise<void> | null = null;

  async function stop(): Promise<void> {
    log.event('info', 'Stopping: finishing what is in flight.');
    await Promise.all([crew?.stop(STOP_MS + GRACE_MS), reminding.stop()]);
    close();
    log.event('info', 'Stopped.');
    await output.drain();
    release();
  }

  return {
    url,
    port,
    failed: failed.promise,
    // Called twice (SIGTERM, then SIGINT), it stops once.
    stop: () => (stopped ??= stop()),
    reloadTls: async () => {
      if (tls === null) return;
      try {
        const next = readTls(config);
        // Whether it can be used is known before the first worker changes over.
        probePort(config, 0, next);
        tls = next;
        await crew?.orderAll({ kind: 'reload', tls });
        log.event('info', 'The certificate was read again.');
      } catch (cause) {
        log.event('error', 'The certificate could not be read again; the old one stays.', { cause });
        throw cause;
      }
    },
  };
}
