import type { ServerDeps } from '../../shared/deps.ts';
import type { AppError } from '../../shared/errors.ts';
import type { Log } from '../observability/log.ts';
import type { LogOutput } from '../observability/log-output.ts';
import type { ArrivalPace } from './feed/arrival.ts';
import { startOutboxTimer } from './outbox-timer.ts';
import type { PortalHandle } from './portal-handle.ts';
import type { Repeating } from './repeating.ts';
import { startSweepTimer } from './sweep-timer.ts';
import { startVacuumTimer, type VacuumOptions } from './vacuum-timer.ts';

/** A server that accepts requests. */
export type RunningServer = {
  /** Scheme, host and port without a trailing slash: `http://127.0.0.1:3000`. */
  url: string;
  port: number;
  /**
   * Answers everything for one more second, over TLS for one and a half, and closes each connection with its answer. Then
   * accepts no more connections, gives requests in flight 10 s and then the portal's background work 15 s, writes the quotas
   * and releases everything but the database. May be called twice.
   */
  stop: () => Promise<void>;
  /**
   * Reads the certificate's files again; does nothing if the server speaks plain HTTP. Resolves a second later, when no new
   * connection gets the old certificate any more. If it throws `bad_config`, the old certificate stays in use.
   */
  reloadTls: () => Promise<void>;
  /** Resolves with the reason if the server can't continue and has to be stopped. */
  failed: Promise<AppError>;
};

/** How to start a server. */
export type ServerOptions = {
  /** Instead of the configured port; 0 is any free one. */
  port?: number;
  /** How long a listener answers before it accepts no more connections, in milliseconds; tests make it short. */
  drainMs?: number;
  /** Where log lines go instead of standard output. */
  log?: LogOutput;
  /** Called with each worker that starts; tests use it. */
  onWorker?: (worker: Worker, number: number) => void;
  /** Replaces the portal's thread; tests use it. */
  portal?: PortalHandle;
  /** How long a page may take, in milliseconds; tests make it short. */
  answerMs?: number | undefined;
  /** How the server runs VACUUM; without this it never does. */
  vacuum?: VacuumOptions;
  /** The command that imports a backend's profiles; without it the server accepts none. */
  feedCommand?: readonly string[] | null;
  /** How fast a backend's profiles must arrive; tests change it. */
  feedPace?: ArrivalPace;
};

/** What differs between a server with one thread and one with workers, and what both need to run. */
export type ServerParts = Pick<RunningServer, 'url' | 'port' | 'failed' | 'reloadTls'> & {
  deps: ServerDeps;
  log: Log;
  /** Where the lines of `log` go. */
  output: LogOutput;
  vacuum: VacuumOptions | undefined;
  portal: PortalHandle;
  /** Drains, then resolves once no request is in flight. */
  stopListening: () => Promise<void>;
  /** Writes the quotas and the usage, and closes both. */
  close: () => void;
  /** Called last: from then on another server may use the database. */
  release: () => void;
};

/** Runs the timers of a server that listens: for mails, VACUUM and old sessions. Its `stop` ends everything in order. */
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
