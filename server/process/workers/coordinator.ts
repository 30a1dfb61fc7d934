import { type Clock, openThreadClock } from '../../../shared/clock.ts';
import type { Config } from '../../../shared/config/config.ts';
import type { ServerDeps } from '../../../shared/deps.ts';
import { AppError } from '../../../shared/errors.ts';
import { readTransport } from '../../http/transport.ts';
import { createLog, type Log } from '../../observability/log.ts';
import type { LogOutput } from '../../observability/log-output.ts';
import { DRAIN_MS, HANDSHAKE_MS, probePort, readTls, STOP_MS, type Tls, urlOf } from '../listener.ts';
import { createPortalHandle } from '../portal-handle.ts';
import { type RunningServer, runUntilStopped, type ServerOptions } from '../running-server.ts';
import { closeSharedState, freeLocks, onMessage, openSharedState, type SharedState } from './shared-state.ts';
import { createPool, orderAll, startPool, stopPool, type WorkerPool } from './worker-pool.ts';

// This file runs in the main thread if WORKERS is more than 1. The main thread then answers no requests: it holds what the
// workers share, starts, replaces and stops them.

/** How long the main thread waits for a stopping worker beyond the time for draining and for requests in flight. */
const GRACE_MS = 2_000;

/** Ports that Linux, by default, assigns to no program that asks for any port, and to no connection. */
const UNASSIGNED = { least: 10_000, count: 20_000, tries: 10 } as const;

/** Everything that the main thread holds. */
type Coordinator = {
  readonly config: Config;
  readonly port: number;
  readonly drainMs: number;
  readonly shared: SharedState;
  readonly pool: WorkerPool;
  /** The certificate that the workers use, or will start with. */
  tls: Tls;
  /** Resolves with the error to report when too many replacements of dead workers failed to start; the server then stops. */
  readonly failed: PromiseWithResolvers<AppError>;
};

/**
 * Starts the workers, which all listen on one port. Throws the same errors as the start of a server with one thread, and
 * `bad_config` if this system has no clock that all threads share. `release` is called when everything has stopped.
 */
export async function startWorkers(
  given: ServerDeps,
  options: ServerOptions,
  output: LogOutput,
  release: () => void,
): Promise<RunningServer> {
  readTransport(given.config);
  const tls = readTls(given.config);
  const port = choosePort(given.config, options.port ?? given.config.port, tls);
  const url = urlOf(given.config, port);
  const publicUrl = given.config.publicUrl.endsWith(':0') ? url : given.config.publicUrl;
  const config = { ...given.config, publicUrl };
  const deps = { ...given, clock: openCommonClock(), config };
  const log = createLog(config.logLevel, deps.clock.nowMs, output.write);
  const coordinator = await createCoordinator(deps, options, { tls, port, output, log });
  const { pool, shared, drainMs, failed } = coordinator;
  try {
    await startPool(pool);
  } catch (error) {
    closeSharedState(shared);
    throw error;
  }
  return runUntilStopped({
    url,
    port,
    failed: failed.promise,
    deps,
    log,
    output,
    vacuum: options.vacuum,
    portal: shared.portal,
    stopListening: () => stopPool(pool, drainMs + HANDSHAKE_MS + STOP_MS + GRACE_MS),
    reloadTls: () => reloadTls(coordinator),
    close: () => closeSharedState(shared),
    release,
  });
}

/**
 * Returns the port that all workers will bind, once it has proved to be free; `asked` 0 means any. The workers bind it only
 * some milliseconds later, and the system could give a port that it chose itself to another program meanwhile. So the
 * system's choice only selects one of the {@link UNASSIGNED} ports. Throws what `probePort` throws.
 */
function choosePort(config: Config, asked: number, tls: Tls): number {
  for (let tries = 1; ; tries++) {
    const port = asked || UNASSIGNED.least + (probePort(config, 0, tls) % UNASSIGNED.count);
    try {
      return probePort(config, port, tls);
    } catch (error) {
      if (asked !== 0 || tries === UNASSIGNED.tries) throw error;
    }
  }
}

async function createCoordinator(
  deps: ServerDeps,
  { drainMs = DRAIN_MS, onWorker, portal: given, answerMs, feedCommand = null }: ServerOptions,
  { tls, port, output, log }: { tls: Tls; port: number; output: LogOutput; log: Log },
): Promise<Coordinator> {
  const { config, clock } = deps;
  const pool = createPool({
    count: config.workers,
    clock,
    log,
    startOf: (number) => {
      const { tls, shared } = coordinator;
      return { number, config, port, tls, drainMs, answerMs, feedCommand, ...shared.memory };
    },
    onMessage: (handle, message) => onMessage(coordinator.shared, pool, handle, message),
    onDeath: (number) => freeLocks(coordinator.shared, number),
    onGiveUp: (cause) => {
      const sentence = 'Workers die as soon as they start; the log says why.';
      coordinator.failed.resolve(new AppError('refused', sentence, { cause }));
    },
    onWorker,
  });
  const portal = given ?? createPortalHandle({ config: () => config, clock, log });
  const shared = await openSharedState(deps, output, log, portal, () => pool.restarts);
  const coordinator: Coordinator = { config, port, drainMs, shared, pool, tls, failed: Promise.withResolvers() };
  return coordinator;
}

/**
 * Reads the certificate's files again and has all workers listen with the new certificate. If it throws `bad_config`, the
 * old one stays in use.
 */
async function reloadTls(coordinator: Coordinator): Promise<void> {
  const tls = readTls(coordinator.config);
  // Binding any free port with the new certificate fails if it is unusable, before any worker has switched to it.
  probePort(coordinator.config, 0, tls);
  coordinator.tls = tls;
  await orderAll(coordinator.pool, { kind: 'reload', tls });
}

function openCommonClock(): Clock {
  try {
    return openThreadClock();
  } catch (cause) {
    const sentence = "WORKERS must be 1 here: no clock for all threads is known in this system's C library.";
    throw new AppError('bad_config', sentence, { cause });
  }
}
