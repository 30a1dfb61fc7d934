import type { ServerDeps } from '../../shared/deps.ts';
import type { AppError } from '../../shared/errors.ts';
import type { Log, LogOutput } from '../observability/log.ts';
import type { ArrivalPace } from './feed/arrival.ts';
import { startOutboxTimer } from './outbox-timer.ts';
import type { PortalHandle } from './portal-handle.ts';
import type { Repeating } from './repeating.ts';
import { startSweepTimer } from './sweep-timer.ts';
import { startVacuumTimer, type VacuumOptions } from './vacuum-timer.ts';

/** A server that accepts requests. */
export type RunningServer = {
  /** Without a trailing slash: `http://127.0.0.1:3000`. */
  url: string;
  port: number;
  /**
   * Answers everything for one more second (1.5 s over TLS), closing each connection with its response. Then accepts no more
   * connections, waits 10 s for in-flight requests and 15 s for the portal's background work, writes the quotas, and releases
   * everything except the database. May be called twice.
   */
  stop: () => Promise<void>;
  /**
   * Reads the certificate's files again; does nothing over plain HTTP. Resolves a second later, when no new connection is
   * offered the old certificate. If it throws `bad_config`, the old certificate stays in use.
   */
  reloadTls: () => Promise<void>;
  /** Resolves with the reason if the server can't continue, and has to be stopped. */
  failed: Promise<AppError>;
};

/** How to start a server. Tests use `drainMs`, `onWorker`, `portal`, `answerMs` and `feedPace`. */
export type ServerOptions = {
  /** Instead of the configured port; 0 is any free one. */
  port?: number;
  /** How long a listener drains. */
  drainMs?: number;
  /** Replaces standard output. */
  log?: LogOutput;
  /** Called with each worker that starts. */
  onWorker?: (worker: Worker, number: number) => void;
  portal?: PortalHandle;
  /** How long a request to the portal may take, in milliseconds. */
  answerMs?: number | undefined;
  /** If absent, the server never runs VACUUM. */
  vacuum?: VacuumOptions;
  /** The command that imports a backend's profiles; if absent, the server accepts none. */
  feedCommand?: readonly string[] | null;
  feedPace?: ArrivalPace;
};

/** The parts of a server, which differ between one thread and workers. */
export type ServerParts = Pick<RunningServer, 'url' | 'port' | 'failed' | 'reloadTls'> & {
  deps: ServerDeps;
  log: Log;
  output: LogOutput;
  vacuum: VacuumOptions | undefined;
  portal: PortalHandle;
  /** Drains, then resolves once no request is in flight. */
  stopListening: () => Promise<void>;
  /** Writes the quotas and the usage, and closes both. */
  close: () => void;
  /** Called last: another server may then use the database. */
  release: () => void;
};

/** Starts the timers of a listening server: mails, VACUUM and old sessions. Its `stop` stops everything in order. */
export function runUntilStopped(parts: ServerParts): RunningServer {
  const { url, port, failed, deps, log, vacuum, portal } = parts;
  log.event('info', `Listening on ${url}.`);
  const timers = [
    startOutboxTimer({ deps, log }, portal.sendMails),
    startSweepTimer(portal, deps.config.databasePath),
    ...(vacuum === undefined ? [] : [startVacuumTimer(deps, log, vacuum)]),
  ];
  let stopped: Promise<void> | null = null;
  return {
    url,
    port,
    failed,
    stop: () => {
      stopped ??= stop(parts, timers);
      return stopped;
    },
    reloadTls: () => reloadTls(parts),
  };
}

async function stop(parts: ServerParts, timers: readonly Repeating[]): Promise<void> {
  const { log, output, portal, stopListening, close, release } = parts;
  log.event('info', 'Stopping: finishing requests in flight.');
  portal.beginStop();
  await Promise.all([stopListening(), ...timers.map((timer) => timer.stop())]);
  await portal.stop();
  close();
  log.event('info', 'Stopped.');
  await output.drain();
  release();
}

async function reloadTls({ deps, log, reloadTls }: ServerParts): Promise<void> {
  if (deps.config.tls === null) return;
  try {
    await reloadTls();
    log.event('info', 'The certificate was reloaded.');
  } catch (cause) {
    log.event('error', 'The certificate could not be reloaded; the old one stays in use.', { cause });
    throw cause;
  }
}
