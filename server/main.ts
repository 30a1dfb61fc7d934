import { diskWarning } from '../shared/db/disk.ts';
import { lockForServing } from '../shared/db/serving.ts';
import type { ServerDeps } from '../shared/deps.ts';
import type { AppError } from '../shared/errors.ts';
import { createApp } from './app.ts';
import { openExchange } from './chain.ts';
import { type Fetch, type Listener, startListening } from './listener.ts';
import { createLog } from './log.ts';
import { type LogOutput, openLogOutput } from './log-output.ts';
import type { Metrics } from './metrics.ts';
import { startReminding } from './reminding.ts';
import { closeService, createService, type Service } from './service.ts';
import { startVacuuming, type VacuumOptions } from './vacuuming.ts';

/** A server that accepts requests. */
export type RunningServer = {
  /** `http://127.0.0.1:3000`, without a trailing slash. */
  url: string;
  port: number;
  /**
   * Answers everything for a second more, each answer closing its connection; then accepts no more connections, finishes
   * what is in flight (10 s at most), writes the quotas and releases everything but the database.
   */
  stop: () => Promise<void>;
  /**
   * Reads the certificate's files again; resolves a second later, when nobody is given the old one any more. Throws
   * `bad_config`, and keeps the old one.
   */
  reloadTls: () => Promise<void>;
  /** Resolves where the server can't go on and has to be stopped, with why. */
  failed: Promise<AppError>;
};

/**
 * `port` instead of the configured one (0: any free one); how long a listener drains before it ends, for tests; where log
 * lines go instead of stdout; who is told of every worker that is started; how the database is vacuumed, without which it
 * never is.
 */
export type ServerOptions = {
  port?: number;
  drainMs?: number;
  log?: LogOutput;
  onWorker?: (worker: Worker, number: number) => void;
  vacuum?: VacuumOptions;
};

const STDOUT = 1;

/**
 * Starts the server on an open database; one server per database. Throws `bad_config` for what can't be served safely,
 * `refused` where the database or the port is taken.
 */
export async function startServer(deps: ServerDeps, options: ServerOptions = {}): Promise<RunningServer> {
  const { config } = deps;
  const log = options.log ?? openLogOutput(STDOUT);
  const lock = lockForServing(config.databasePath);
  const warning = diskWarning(config.databasePath);
  if (warning !== null) createLog(config.logLevel, deps.clock.nowMs, log.write).event('warn', warning);
  let service: Service | null = null;
  try {
    if (config.workers > 1) {
      const { startWorkers } = await import('./workers/coordinator.ts');
      return await startWorkers(deps, options, log, () => lock.close());
    }
    service = createService(deps, log.write, await metricsOf(deps));
    const listener = startListening(config, options.port ?? config.port, fetchOf(service), {
      drainMs: options.drainMs,
    });
    // PORT=0 lets the system choose: only now is it known where clients find this server.
    if (config.publicUrl.endsWith(':0')) service.deps = { ...deps, config: { ...config, publicUrl: listener.url } };
    service.log.event('info', `Listening on ${listener.url}.`);
    return running(service, listener, log, options, () => lock.close());
  } catch (error) {
    if (service !== null) closeService(service);
    lock.close();
    // What was said on the way (a quota file put aside) would end with the process.
    await log.drain();
    throw error;
  }
}

async function metricsOf(deps: ServerDeps): Promise<Metrics | null> {
  if (deps.config.metricsToken === null) return null;
  const { createMetrics } = await import('./metrics.ts');
  return createMetrics(deps);
}

function fetchOf(service: Service): Fetch {
  const app = createApp(service);
  return (request, peer) => app(openExchange(service, request, peer));
}

function running(
  service: Service,
  listener: Listener,
  log: LogOutput,
  { vacuum }: ServerOptions,
  release: () => void,
): RunningServer {
  const reminding = startReminding(service);
  const vacuuming = vacuum && startVacuuming(service.deps, service.log, vacuum);
  let stopped: Promise<void> | null = null;
  async function stop(): Promise<void> {
    service.log.event('info', 'Stopping: finishing what is in flight.');
    await Promise.all([listener.stop(), reminding.stop(), vacuuming?.stop()]);
    closeService(service);
    service.log.event('info', 'Stopped.');
    await log.drain();
    release();
  }
  return {
    url: listener.url,
    port: listener.port,
    failed: Promise.withResolvers<AppError>().promise,
    // Called twice (SIGTERM, then SIGINT), it stops once.
    stop: () => (stopped ??= stop()),
    reloadTls: async () => {
      try {
        await listener.reloadTls();
        service.log.event('info', 'The certificate was read again.');
      } catch (cause) {
        service.log.event('error', 'The certificate could not be read again; the old one stays.', { cause });
        throw cause;
      }
    },
  };
}

/**
 * Serves until SIGTERM or SIGINT; SIGHUP reads the certificate again. `onListening` is told where. Resolves when
 * everything is finished and written; the caller closes the database and exits. Throws what {@link startServer} throws.
 */
export async function serve(
  deps: ServerDeps,
  options: ServerOptions = {},
  onListening?: (server: RunningServer) => void,
): Promise<void> {
  const server = await startServer(deps, options);
  const { promise: asked, resolve } = Promise.withResolvers<unknown>();
  // What goes wrong is in the log; the old certificate serves on.
  const onHangup = () => void server.reloadTls().catch(() => undefined);
  process.on('SIGTERM', resolve).on('SIGINT', resolve).on('SIGHUP', onHangup);
  try {
    onListening?.(server);
    const fault = await Promise.race([asked.then(() => null), server.failed]);
    if (fault !== null) throw fault;
  } finally {
    // Where nobody could be told that it listens, too.
    await server.stop();
    process.off('SIGTERM', resolve).off('SIGINT', resolve).off('SIGHUP', onHangup);
  }
}
