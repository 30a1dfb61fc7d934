import { type Clock, openThreadClock } from '../../../shared/clock.ts';
import type { ServerDeps } from '../../../shared/deps.ts';
import { AppError } from '../../../shared/errors.ts';
import { checkTransport } from '../../request/transport.ts';
import { createLog } from '../../watching/log.ts';
import type { LogOutput } from '../../watching/log-output.ts';
import { DRAIN_MS, probePort, readTls, STOP_MS, urlOf } from '../listener.ts';
import { startReminding } from '../reminding.ts';
import type { RunningServer, ServerOptions } from '../running-server.ts';
import { startVacuuming } from '../vacuuming.ts';
import { type Crew, startCrew } from './crew.ts';
import { openKeeper } from './keeper.ts';

// The main thread where WORKERS is more than 1: it answers no request. It keeps what there is once, and the workers, and
// tells them when to stop.

/** Beyond the time in which a worker drains and finishes what is in flight. */
const GRACE_MS = 2_000;

/** Starts the workers on one port. Throws what a single server throws. `release` is called when all has stopped. */
export async function startWorkers(
  given: ServerDeps,
  options: ServerOptions,
  output: LogOutput,
  release: () => void,
): Promise<RunningServer> {
  checkTransport(given.config);
  let tls = readTls(given.config);
  const port = probePort(given.config, options.port ?? given.config.port, tls);
  const url = urlOf(given.config, port);
  const publicUrl = given.config.publicUrl.endsWith(':0') ? url : given.config.publicUrl;
  const { drainMs = DRAIN_MS } = options;
  const clock = await commonClock();
  const config = { ...given.config, publicUrl };
  const deps = { ...given, clock, config };
  const log = createLog(config.logLevel, clock.nowMs, output.write);
  const failed = Promise.withResolvers<AppError>();
  let crew: Crew | null = null;
  const keeper = await openKeeper(deps, output, log, () => crew?.restarts() ?? 0);
  try {
    crew = await startCrew({
      count: config.workers,
      clock,
      startOf: (number) => ({ number, config, port, tls, drainMs, ...keeper.shared }),
      hear: (member, message) => keeper.hear(crew, member, message),
      log,
      onDeath: keeper.bury,
      onGiveUp: (cause) => {
        const sentence = 'Workers die as soon as they are started; the log says why.';
        failed.resolve(new AppError('refused', sentence, { cause }));
      },
      onWorker: options.onWorker,
    });
  } catch (error) {
    keeper.close();
    throw error;
  }
  log.event('info', `Listening on ${url}.`);
  const reminding = startReminding({ deps, log });
  const vacuuming = options.vacuum && startVacuuming(deps, log, options.vacuum);

  async function stop({ stop: stopCrew }: Crew): Promise<void> {
    log.event('info', 'Stopping: finishing what is in flight.');
    await Promise.all([stopCrew(drainMs + STOP_MS + GRACE_MS), reminding.stop(), vacuuming?.stop()]);
    keeper.close();
    log.event('info', 'Stopped.');
    await output.drain();
    release();
  }

  async function reloadTls({ orderAll }: Crew): Promise<void> {
    if (tls === null) return;
    try {
      const next = readTls(config);
      // Whether it can be used is known before the first worker changes over.
      probePort(config, 0, next);
      tls = next;
      await orderAll({ kind: 'reload', tls });
      log.event('info', 'The certificate was read again.');
    } catch (cause) {
      log.event('error', 'The certificate could not be read again; the old one stays.', { cause });
      throw cause;
    }
  }

  const serving = crew;
  let stopped: Promise<void> | null = null;
  // Called twice (SIGTERM, then SIGINT), it stops once.
  return {
    url,
    port,
    failed: failed.promise,
    stop: () => (stopped ??= stop(serving)),
    reloadTls: () => reloadTls(serving),
  };
}

async function commonClock(): Promise<Clock> {
  try {
    return await openThreadClock();
  } catch (cause) {
    const sentence = "WORKERS must be 1 here: this system's C library has no clock for all threads that is known.";
    throw new AppError('bad_config', sentence, { cause });
  }
}
