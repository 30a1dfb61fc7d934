import { type Clock, openThreadClock } from '../../../shared/clock.ts';
import type { Config } from '../../../shared/config/config.ts';
import type { ServerDeps } from '../../../shared/deps.ts';
import { AppError } from '../../../shared/errors.ts';
import { readTransport } from '../../http/transport.ts';
import { createLog, type Log, type LogOutput } from '../../observability/log.ts';
import { DRAIN_MS, HANDSHAKE_MS, probePort, readTls, STOP_MS, type Tls, urlOf } from '../listener.ts';
import { createPortalHandle } from '../portal-handle.ts';
import { type RunningServer, runUntilStopped, type ServerOptions } from '../running-server.ts';
import { closeSharedState, freeLocks, onMessage, openSharedState, type SharedState } from './shared-state.ts';
import { createPool, orderAll, startPool, stopPool, type WorkerPool } from './worker-pool.ts';

// This file runs in the main thread if WORKERS is more than 1. The main thread then answers no requests: it holds the state
// that the workers share, and starts, replaces and stops them.

/** How long the main thread waits for a stopping worker beyond the time for draining and for in-flight requests. */
const GRACE_MS = 2_000;

/** Ports that Linux, by default, never assigns to a connection, or to a program that binds port 0. */
const UNASSIGNED = { min: 10_000, count: 20_000, tries: 10 } as const;

type Coordinator = {
  readonly config: Config;
  readonly port: number;
  readonly drainMs: number;
  readonly shared: SharedState;
  readonly pool: WorkerPool;
  /** The certificate that the workers use or will start with. */
  tls: Tls;
  /** Resolves with an error when too many replacements of dead workers have failed to start; the server then stops. */
  readonly failed: PromiseWithResolvers<AppError>;
};

/**
 * Starts the workers, which all listen on one port. Throws as `startServer`, and `bad_config` if this system has no clock that
 * all threads share. `release` is called when everything has stopped.
 */
export async function startWorkers(
  given: ServerDeps,
  options: ServerOptions,
  output: LogOutput,
  release: () => void,
): Promise<RunningServer> {
  readTransport(given.config);
  const tls = readTls(given.config);
  const port = selectPort(given.config, options.port ?? given.config.port, tls);
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
 * Returns a free port for all workers; `wanted` 0 means any. The workers bind it some milliseconds later, when the system could
 * have assigned a port of its own range to another program, so its choice only selects one of the {@link UNASSIGNED} ports.
 * Throws as `probePort`.
 */
function selectPort(config: Config, wanted: number, tls: Tls): number {
  for (let tries = 1; ; tries++) {
    const port = wanted || UNASSIGNED.min + (probePort(config, 0, tls) % UNASSIGNED.count);
    try {
      return probePort(config, port, tls);
    } catch (error) {
      if (wanted !== 0 || tries === UNASSIGNED.tries) throw error;
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

/** Makes all workers listen with the current certificate files. If it throws `bad_config`, the old one stays in use. */
async function reloadTls(coordinator: Coordinator): Promise<void> {
  const tls = readTls(coordinator.config);
  // Binding any free port fails if the new certificate is unusable, before any worker switches to it.
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
