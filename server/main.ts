import { diskWarning } from '../shared/db-files/disk.ts';
import { lockForServing } from '../shared/db-files/serving.ts';
import { removeUnfinished } from '../shared/db-files/unfinished.ts';
import type { ServerDeps } from '../shared/deps.ts';
import type { AppError } from '../shared/errors.ts';
import { createApp } from './app.ts';
import { collectAfterStart } from './observability/collector.ts';
import { createLog, openLogOutput } from './observability/log.ts';
import type { Metrics } from './observability/metrics.ts';
import { reloadListener, startListening, stopListening } from './process/listener.ts';
import { createPortalHandle } from './process/portal-handle.ts';
import { type RunningServer, runUntilStopped, type ServerOptions, type ServerParts } from './process/running-server.ts';
import { closeService, createService } from './process/service.ts';

const STDOUT = 1;

/**
 * Starts the server on an open database. Throws `bad_config` if the configuration is unsafe, `refused` if the port is in use
 * or another server runs on this database.
 */
export async function startServer(deps: ServerDeps, options: ServerOptions = {}): Promise<RunningServer> {
  const { config } = deps;
  const output = options.log ?? openLogOutput(STDOUT);
  const lock = lockForServing(config.databasePath);
  const release = () => lock.close();
  const log = createLog(config.logLevel, deps.clock.nowMs, output.write);
  const warning = diskWarning(config.databasePath);
  if (warning !== null) log.event('warn', warning);
  for (const path of removeUnfinished(config.databasePath)) log.event('info', `Removed the unfinished copy ${path}.`);
  try {
    if (config.workers === 1) return await startOneThread(deps, options, { log, output, release });
    const { startWorkers } = await import('./process/workers/coordinator.ts');
    return await startWorkers(deps, options, output, release);
  } catch (error) {
    release();
    // Lines logged before the error would be lost when the process exits.
    await output.drain();
    throw error;
  }
}

async function startOneThread(
  deps: ServerDeps,
  options: ServerOptions,
  { log, output, release }: Pick<ServerParts, 'log' | 'output' | 'release'>,
): Promise<RunningServer> {
  const { config } = deps;
  const portal = options.portal ?? createPortalHandle({ config: () => service.deps.config, clock: deps.clock, log });
  const service = createService(deps, output.write, {
    metrics: await metricsOf(deps),
    portal: { ...portal, answerMs: options.answerMs },
    feedCommand: options.feedCommand,
    feedPace: options.feedPace,
  });
  try {
    const listener = startListening(service, createApp(service), options.port ?? config.port, {
      drainMs: options.drainMs,
    });
    // With PORT=0 the system selects the port, so the public URL is known only now.
    if (config.publicUrl.endsWith(':0')) service.deps = { ...deps, config: { ...config, publicUrl: listener.url } };
    return runUntilStopped({
      url: listener.url,
      port: listener.port,
      failed: Promise.withResolvers<AppError>().promise,
      deps: service.deps,
      log,
      output,
      vacuum: options.vacuum,
      portal,
      stopListening: () => stopListening(listener),
      reloadTls: () => reloadListener(listener),
      close: () => closeService(service),
      release,
    });
  } catch (error) {
    closeService(service);
    throw error;
  }
}

async function metricsOf(deps: ServerDeps): Promise<Metrics | null> {
  if (deps.config.metricsToken === null) return null;
  const { createMetrics } = await import('./observability/metrics.ts');
  return createMetrics(deps);
}

/**
 * Serves until SIGTERM or SIGINT, and reloads the certificate on SIGHUP. Calls `onListening` once the server accepts requests.
 * Resolves when all requests have finished and all log lines are written; the caller then closes the database and exits.
 * Throws what {@link startServer} throws.
 */
export async function serve(
  deps: ServerDeps,
  options: ServerOptions = {},
  onListening?: (server: RunningServer) => void,
): Promise<void> {
  // All threads share the umask. Code that creates a file sets and restores it, which would race if the value changed.
  process.umask(0o077);
  const server = await startServer(deps, options);
  collectAfterStart();
  const { promise: signalled, resolve } = Promise.withResolvers<unknown>();
  // reloadTls has logged the error, and the server keeps the old certificate.
  const onHangup = () => void server.reloadTls().catch(() => undefined);
  process.on('SIGTERM', resolve).on('SIGINT', resolve).on('SIGHUP', onHangup);
  try {
    onListening?.(server);
    const fault = await Promise.race([signalled.then(() => null), server.failed]);
    if (fault !== null) throw fault;
  } finally {
    // Also reached if `onListening` throws, for example because standard output is closed.
    await server.stop();
    process.off('SIGTERM', resolve).off('SIGINT', resolve).off('SIGHUP', onHangup);
  }
}
