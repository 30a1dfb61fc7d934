import { closeReader } from '../shared/db/reader.ts';
import type { Deps } from '../shared/deps.ts';
import { diskWarning } from '../shared/files/disk.ts';
import { takeServerLock } from '../shared/files/open.ts';
import { addPlatform, createApp, createService } from './app.ts';
import { stopBackground } from './background.ts';
import { refuseUncaught, refuseUnroutable } from './http/every-request.ts';
import { isRoutable, readTransport } from './http/transport.ts';
import { type Listener, listen } from './listen.ts';
import { createLog, type LogOutput, openLogOutput } from './observability/log.ts';
import type { Service } from './service.ts';
import { startSavingCounts } from './upkeep/counts.ts';
import { startOutboxTimer } from './upkeep/outbox.ts';
import type { Repeating } from './upkeep/repeating.ts';
import { startLogTimer, startVacuumTimer, type VacuumOptions } from './upkeep/vacuum.ts';

const STDOUT = 1;

/** A server that accepts requests. */
type RunningServer = {
  /** Without a trailing slash: `http://127.0.0.1:3000`. */
  url: string;
  port: number;
  /** What answers the requests. */
  service: Service;
  /**
   * Answers everything for one more second (1.5 s over TLS), closing each connection with its response. Then accepts no more
   * connections, waits up to 10 s for in-flight requests and up to 10 s for mails and approvals, writes the quotas, and releases
   * everything except the database. May be called twice.
   */
  stop: () => Promise<void>;
};

/** How to start a server; tests shorten the drain. */
export type ServerOptions = {
  /** Instead of the configured port; 0 is any free one. */
  port?: number;
  /** How long the listener drains. */
  drainMs?: number;
  /** Replaces standard output. */
  log?: LogOutput;
  /** If absent, the server never runs VACUUM. */
  vacuum?: VacuumOptions;
};

/**
 * Starts the server on an open database. Throws `bad_config` if the configuration is unsafe, `refused` if the port is in use
 * or another server runs on this database.
 */
export async function startServer(deps: Deps, options: ServerOptions = {}): Promise<RunningServer> {
  const { config, clock } = deps;
  const output = options.log ?? openLogOutput(STDOUT);
  const lock = takeServerLock(config.databasePath);
  const log = createLog(config.logLevel, clock.nowMs, output.write);
  const warning = diskWarning(config.databasePath);
  if (warning !== null) log.event('warn', warning);
  let listener: Listener | null = null;
  let service: Service | null = null;
  try {
    const transport = readTransport(config);
    // No request arrives before both are made below: nothing in between is asynchronous.
    let app: ReturnType<typeof createApp>;
    let made: Service;
    let isComplete = !config.developerPlatform;
    const completed = Promise.withResolvers<void>();
    const answering = {
      fetch: (request: Request) => {
        if (!isRoutable(request)) return refuseUnroutable(made, request);
        if (!isComplete && OF_PLATFORM.test(request.url)) return completed.promise.then(() => app.fetch(request));
        return app.fetch(request);
      },
      error: (error: unknown) => refuseUncaught(made, error),
    };
    listener = listen(config, options.port ?? config.port, answering, options.drainMs);
    // With PORT=0 the system selects the port, so the public URL is known only now.
    const publicUrl = config.publicUrl.endsWith(':0') ? listener.url : config.publicUrl;
    made = createService({ ...deps, config: { ...config, publicUrl } }, transport, log);
    service = made;
    made.connections = listener.server;
    app = createApp(made);
    log.event('info', `Listening on ${listener.url}.`);
    if (config.developerPlatform) {
      // Requests that have arrived meanwhile are answered first.
      await Bun.sleep(TURN_MS);
      await addPlatform(app, made);
      isComplete = true;
      completed.resolve();
    }
    return runUntilStopped(made, listener, output, options.vacuum, () => lock.close());
  } catch (error) {
    void listener?.server.stop(true);
    if (service !== null) closeReader(service.reader);
    lock.close();
    // Otherwise, lines logged before the error would be lost when the process exits.
    await output.drain();
    throw error;
  }
}

/** In this time, a connection is accepted and its request is read. */
const TURN_MS = 1;

/** The requests that wait until what {@link addPlatform} adds is loaded. */
const OF_PLATFORM = /^https?:\/\/[^/]+\/(developers|manage)/;

/** Starts the timers: mails, VACUUM and the write-ahead log. The result's `stop` stops everything in order. */
function runUntilStopped(
  service: Service,
  listener: Listener,
  output: LogOutput,
  vacuum: VacuumOptions | undefined,
  release: () => void,
): RunningServer {
  const { deps, log } = service;
  const timers: readonly Repeating[] = [
    startOutboxTimer(service),
    ...(vacuum === undefined ? [] : [startVacuumTimer(deps, log, vacuum), startLogTimer(deps, log, vacuum)]),
  ];
  const counts = startSavingCounts(service);
  const stop = async () => {
    log.event('info', 'Stopping: finishing requests in flight.');
    service.isStopping = true;
    await Promise.all([listener.stop(), ...timers.map((timer) => timer.stop())]);
    await Promise.all([stopBackground(service.background), counts.stop()]);
    closeReader(service.reader);
    log.event('info', 'Stopped.');
    await output.drain();
    release();
  };
  let stopped: Promise<void> | null = null;
  return {
    url: listener.url,
    port: listener.port,
    service,
    stop: () => {
      stopped ??= stop();
      return stopped;
    },
  };
}

/** By then, the first requests have been answered. */
const STARTED_MS = 500;

/** Frees the 2 MiB or so of garbage that startup leaves behind. Takes about 10 ms. */
function collectAfterStart(): void {
  Bun.gc(true);
  Bun.shrink();
}

/**
 * Serves until SIGTERM or SIGINT. Calls `onListening` once the server accepts requests. Resolves when all requests have finished
 * and all log lines are written; the caller then closes the database and exits. Throws what {@link startServer} throws.
 */
export async function serve(
  deps: Deps,
  options: ServerOptions = {},
  onListening?: (server: RunningServer) => void,
): Promise<void> {
  process.umask(0o077);
  const { promise: signalled, resolve } = Promise.withResolvers<unknown>();
  // Without a handler, SIGHUP would end the process, and some operators send it out of habit after renewing the certificate.
  const ignore = () => {};
  // Before the start, because requests may be answered before it is complete.
  process.on('SIGTERM', resolve).on('SIGINT', resolve).on('SIGHUP', ignore);
  let server: RunningServer | null = null;
  try {
    server = await startServer(deps, options);
    onListening?.(server);
    setTimeout(collectAfterStart, STARTED_MS).unref();
    await signalled;
  } finally {
    // Also reached if `onListening` throws, for example because standard output is closed.
    await server?.stop();
    process.off('SIGTERM', resolve).off('SIGINT', resolve).off('SIGHUP', ignore);
  }
}
