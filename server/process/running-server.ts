import type { AppError } from '../../shared/errors.ts';
import type { LogOutput } from '../watching/log-output.ts';
import type { VacuumOptions } from './vacuuming.ts';

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
