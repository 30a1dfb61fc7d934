import { closeReader, openReader, type Reader } from '../../shared/db/reader.ts';
import { isReady } from '../../shared/db/ready.ts';
import type { ServerDeps } from '../../shared/deps.ts';
import { AppError } from '../../shared/errors.ts';
import { prepareVerifier, type Verifier } from '../../shared/keys/verify.ts';
import type { Report } from '../../shared/limits/ledger.ts';
import type { Limits } from '../../shared/limits/limits.ts';
import { openLimits } from '../../shared/limits/one-thread.ts';
import { prepareProfiles } from '../../shared/profiles/read/cache.ts';
import { type Leaderboard, prepareLeaderboard } from '../../shared/profiles/read/leaderboard.ts';
import { type Lookup, prepareLookup } from '../../shared/profiles/read/lookup.ts';
import { closeUsage, openUsage, type Usage } from '../../shared/usage/usage.ts';
import type { UsageCounter } from '../../shared/usage/usage-counter.ts';
import { type Answers, prepareAnswers } from '../http/answers.ts';
import { requestIds } from '../http/exchange.ts';
import { prepareRefusals, type Refusals } from '../http/refusals.ts';
import { createThrottleMemory, joinThrottle, type Throttle } from '../http/throttle.ts';
import { checkTransport, type Transport } from '../http/transport.ts';
import { createUnsentMemory, joinUnsent, type Unsent } from '../http/unsent.ts';
import { type ArrivalPace, FEED_PACE } from '../manage/arrival.ts';
import { createLog, type Log, reportTo } from '../observability/log.ts';
import type { Metrics } from '../observability/metrics.ts';
import { type Collector, createCollector } from './collector.ts';
import { type Bridge, type BridgeParts, createBridge } from './portal-bridge.ts';

/** What a thread that answers requests works with: everything that is prepared once. */
export type Service = {
  deps: ServerDeps;
  transport: Transport;
  reader: Reader;
  log: Log;
  nextRequestId: () => string;
  verify: Verifier;
  throttle: Throttle;
  limits: Limits;
  /** Counts what keys are used for. */
  counter: UsageCounter;
  /** Writes what `counter` has counted; null in a worker, which sends its counts to the main thread. */
  usage: Usage | null;
  unsent: Unsent;
  /** Null while METRICS_TOKEN is unset, since nobody could read them. */
  metrics: Metrics | null;
  lookup: Lookup;
  leaderboard: Leaderboard;
  answers: Answers;
  refusals: Refusals;
  collector: Collector;
  isReady: () => boolean;
  /** The way to the thread that answers pages; {@link connectPortal} sets it. */
  portal: Bridge;
  feed: Feeding;
};

/** How profiles of a platform are put in: the words that start a process for them, how fast they must arrive, and whether one runs. */
export type Feeding = {
  /** Null where the server was started without them; then none are taken. Whoever starts the server sets it. */
  words: readonly string[] | null;
  pace: ArrivalPace;
  isBusy: boolean;
};

/** What a worker brings along, because it is shared with other workers or sent to the main thread. */
export type Shared = Pick<Service, 'limits' | 'throttle' | 'counter' | 'unsent'>;

/**
 * Prepares everything that answering takes, and opens what `shared` does not bring along. Throws `bad_config` where keys
 * would travel without encryption.
 */
export function createService(
  deps: ServerDeps,
  writeLog: (line: string) => void,
  metrics: Metrics | null = null,
  shared: Shared | null = null,
): Service {
  const { db, clock, config } = deps;
  const transport = checkTransport(config);
  const log = createLog(config.logLevel, clock.nowMs, writeLog);
  const isSecure = config.tls !== null;
  const report: Report = (level, message, cause) => log.event(level, message, { cause });
  const reader = openReader(config.databasePath, (sentence, cause) => report('error', sentence, cause));
  const sources = prepareProfiles(reader);
  const usage = shared === null ? openUsage(config.databasePath, clock, report) : null;
  return {
    deps,
    transport,
    reader,
    log,
    nextRequestId: requestIds(deps.random),
    verify: prepareVerifier(reader, clock),
    throttle: shared?.throttle ?? joinThrottle(createThrottleMemory(deps.random), 1, clock),
    limits: shared?.limits ?? openLimits(config.databasePath, clock, report),
    counter: shared?.counter ?? (usage as Usage).counter,
    usage,
    unsent: shared?.unsent ?? joinUnsent(createUnsentMemory(1), 0),
    metrics,
    lookup: prepareLookup(reader, sources),
    leaderboard: prepareLeaderboard(reader, sources),
    answers: prepareAnswers(isSecure),
    refusals: prepareRefusals(isSecure),
    collector: createCollector(),
    isReady: () => isReady(db),
    portal: { fetch: nobodyToAsk },
    feed: { words: null, pace: FEED_PACE, isBusy: false },
  };
}

function nobodyToAsk(): Promise<Response> {
  throw new AppError('internal', null, { cause: 'The service was made without a portal.' });
}

/** Connects a service with the thread that answers pages. What that does not answer is refused here, in its words. */
export function connectPortal(service: Service, parts: Pick<BridgeParts, 'connect' | 'end' | 'answerMs'>): void {
  const refuse: BridgeParts['refuse'] = async (request, error) => {
    const { refuseUnanswered } = await import('../portal/unanswered.ts');
    return refuseUnanswered(service.deps.config, reportTo(service.log), request, error);
  };
  service.portal = createBridge({ ...parts, log: service.log, refuse });
}

/** Writes the quotas and the usage, and closes both. Whoever opened the database closes it. */
export function closeService(service: Service): void {
  service.limits.close();
  if (service.usage !== null) closeUsage(service.usage);
  closeReader(service.reader);
}
