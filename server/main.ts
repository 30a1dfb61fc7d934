import { diskWarning } from '../shared/db/disk.ts';
import { lockForServing } from '../shared/db/serving.ts';
import type { ServerDeps } from '../shared/deps.ts';
import type { AppError } from '../shared/errors.ts';
import { createApp } from './app.ts';
import { type Fetch, type Listener, startListening } from './process/listener.ts';
import { startReminding } from './process/reminding.ts';
import type { RunningServer, ServerOptions } from './process/running-server.ts';
import { closeService, createService, type Service } from './process/service.ts';
import { startVacuuming } from './process/vacuuming.ts';
import { openExchange } from './request/chain.ts';
import { createLog } from './watching/log.ts';
import { type LogOutput, openLogOutput } from './watching/log-output.ts';
import type { Metrics } from './watching/metrics.ts';

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
      const { startWorkers } = await import('./process/workers/coordinator.ts');
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
  const { createMetrics } = await import('./watching/metrics.ts');
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
