import type { ServerDeps } from '../../shared/deps.ts';
import type { AppError } from '../../shared/errors.ts';
import type { Log } from '../observability/log.ts';
import type { LogOutput } from '../observability/log-output.ts';
import type { ArrivalPace } from './feed/arrival.ts';
import { type Notifying, startNotifying, stopNotifying } from './outbox-timer.ts';
import type { Portal } from './portal.ts';
import { startWaking } from './sweep-timer.ts';
import { startVacuuming, stopVacuuming, type Vacuuming, type VacuumOptions } from './vacuum-timer.ts';

/** A server that accepts requests. */
export type RunningServer = {
  /** Scheme, host and port without a trailing slash: `http://127.0.0.1:3000`. */
  url: string;
  port: number;
  /**
   * Answers everything for one more second, over TLS for one and a half, and closes each connection with its answer. Then accepts no more connections,
   * gives requests in flight 10 s and then the approvals that pages have begun 15 s, writes the quotas and releases
   * everything but the database. May be called twice.
   */
  stop: () => Promise<void>;
  /**
   * Reads the certificate's files again, and does nothing where the server speaks plain HTTP. Resolves a second later,
   * when no new connection gets the old certificate any more. Throws `bad_config`, and keeps the old certificate.
   */
  reloadTls: () => Promise<void>;
  /** Resolves with the reason where the server can't go on and has to be stopped. */
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
  /** Called with each worker that is started; tests use it. */
  onWorker?: (worker: Worker, number: number) => void;
  /** What answers the pages under `/developers` instead of the portal's thread; tests use it. */
  portal?: Portal;
  /** How long a page may take, in milliseconds; tests make it short. */
  answerMs?: number | undefined;
  /** How the server runs VACUUM; without this the server never does. */
  vacuum?: VacuumOptions;
  /** The words of the command that puts profiles of a platform in; without them the server takes none. */
  feedWords?: readonly string[] | null;
  /** How fast profiles of a platform must arrive; tests make it short. */
  feedPace?: ArrivalPace;
};

/** What a server with one thread and one with workers do differently, and what both need to run. */
export type ServerParts = Pick<RunningServer, 'url' | 'port' | 'failed' | 'reloadTls'> & {
  deps: ServerDeps;
  log: Log;
  /** Where the lines of `log` go. */
  output: LogOutput;
  vacuum: VacuumOptions | undefined;
  portal: Portal;
  /** Drains, then resolves when no request is in flight any more. */
  stopListening: () => Promise<void>;
  /** Writes the quotas and the usage, and closes both. */
  close: () => void;
  /** Called last, when another server may use the database. */
  release: () => void;
};

/** Takes over a server that listens: sends mails that are due and runs VACUUM beside it, and knows the order in which to stop. */
export function runUntilStopped(parts: ServerParts): RunningServer {
  const { url, port, failed, deps, log, vacuum, portal } = parts;
  log.event('info', `Listening on ${url}.`);
  const notifying = startNotifying({ deps, log }, portal.sendMails);
  const vacuuming = vacuum === undefined ? null : startVacuuming(deps, log, vacuum);
  const waking = startWaking(portal, deps.config.databasePath);
  let stopped: Promise<void> | null = null;
  return {
    url,
    port,
    failed,
    stop: () => {
      clearInterval(waking);
      stopped ??= stop(parts, notifying, vacuuming);
      return stopped;
    },
    reloadTls: () => reloadTls(parts),
  };
}

async function stop(parts: ServerParts, notifying: Notifying, vacuuming: Vacuuming | null): Promise<void> {
  const { log, output, portal, stopListening, close, release } = parts;
  log.event('info', 'Stopping: finishing what is in flight.');
  portal.beginStop();
  await Promise.all([stopListening(), stopNotifying(notifying), vacuuming && stopVacuuming(vacuuming)]);
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
    log.event('info', 'The certificate was read again.');
  } catch (cause) {
    log.event('error', 'The certificate could not be read again; the old one stays.', { cause });
    throw cause;
  }
}
