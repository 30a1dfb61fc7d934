import type { Clock } from '../../../shared/clock.ts';
import type { Config } from '../../../shared/config/config.ts';
import type { Log } from '../../observability/log.ts';
import type { PageAnswer } from '../messages.ts';

/** What the platform thread works with, and where it tells what went wrong. */
export type PlatformParts = {
  config: () => Config;
  clock: Clock;
  log: Log;
  /** Called with each thread that is started; tests use it. */
  onThread?: (worker: Worker) => void;
  /** Makes the thread; tests make one that hangs. */
  makeWorker?: () => Worker;
  /** How long a request waits for its answer, in milliseconds, 8 seconds by default; tests wait shorter. */
  answerMs?: number;
};

/** A thread that answers pages, as the main thread sees it. */
export type Thread = {
  readonly worker: Worker;
  readonly startedAtMs: number;
  /** Whom to answer, by the number of the request. */
  readonly open: Map<number, PromiseWithResolvers<PageAnswer>>;
  /** Resolves when the thread has finished after the order to stop, or has ended for whatever reason. */
  readonly ended: PromiseWithResolvers<void>;
  /** How many requests it has answered. */
  answers: number;
  /** Whom to tell what came of the mails that it sends just now. */
  mails: PromiseWithResolvers<boolean> | null;
  lastError: string | null;
};

/** The thread, if one runs, and the number of the last request. */
export type State = {
  readonly parts: PlatformParts;
  thread: Thread | null;
  requests: number;
  isStopping: boolean;
  diedAtMs: number;
};
