import { closeReader, openReader } from '../../shared/db/reader.ts';
import { isReady } from '../../shared/db/ready.ts';
import type { ServerDeps } from '../../shared/deps.ts';
import { AppError } from '../../shared/errors.ts';
import { prepareVerifier } from '../../shared/keys/verify.ts';
import type { Report } from '../../shared/limits/ledger.ts';
import { openLimits } from '../../shared/limits/one-thread.ts';
import { prepareLeaderboard } from '../../shared/profiles/leaderboard/leaderboard.ts';
import { prepareProfiles } from '../../shared/profiles/lookup/cache.ts';
import { prepareLookup } from '../../shared/profiles/lookup/lookup.ts';
import { closeUsage, openUsage, type Usage } from '../../shared/usage/usage.ts';
import { prepareAnswers } from '../http/answers.ts';
import { prepareRefusals } from '../http/errors.ts';
import { requestIds } from '../http/every-request.ts';
import { createSendBufferMemory, joinSendBuffers } from '../http/send-buffer-limit.ts';
import type { Serving } from '../http/serving.ts';
import { createThrottleMemory, joinThrottle } from '../http/throttle.ts';
import { readTransport } from '../http/transport.ts';
import { createCollector } from '../observability/collector.ts';
import { createLog, reportTo } from '../observability/log.ts';
import type { Metrics } from '../observability/metrics.ts';
import { type ArrivalPace, FEED_PACE } from './feed/arrival.ts';
import { type Bridge, type BridgeParts, createBridge } from './portal-bridge.ts';

/** Everything that a serving thread needs. */
export type Service = Serving & {
  /** Saves the counts of `counter`; null in a worker, which sends them to the main thread. */
  usage: Usage | null;
  /** Forwards requests to the portal's thread. */
  bridge: Bridge;
  feed: FeedState;
};

/** How a backend's profiles are imported, and whether an import is running. */
export type FeedState = {
  /** Null if profiles are not accepted. */
  readonly command: readonly string[] | null;
  readonly pace: ArrivalPace;
  isBusy: boolean;
};

/** The parts that a worker provides, because they are shared with other workers or sent to the main thread. */
export type Shared = Pick<Service, 'limits' | 'throttle' | 'counter' | 'sendBuffers'>;

/** The optional parts of a service. */
export type ServiceOptions = {
  metrics?: Metrics | null;
  shared?: Shared;
  /** How to reach the portal's thread. */
  portal?: Pick<BridgeParts, 'connect' | 'end' | 'answerMs'>;
  feedCommand?: readonly string[] | null | undefined;
  feedPace?: ArrivalPace | undefined;
};

/**
 * Prepares everything for answering requests, and opens the parts that `shared` doesn't provide. Throws `bad_config` if keys
 * would be sent unencrypted.
 */
export function createService(
  deps: ServerDeps,
  writeLog: (line: string) => void,
  { metrics = null, shared, portal, feedCommand = null, feedPace = FEED_PACE }: ServiceOptions = {},
): Service {
  const { db, clock, config } = deps;
  const transport = readTransport(config);
  const log = createLog(config.logLevel, clock.nowMs, writeLog);
  const isSecure = config.tls !== null;
  const report: Report = (level, message, cause) => log.event(level, message, { cause });
  const reader = openReader(config.databasePath, (sentence, cause) => report('error', sentence, cause));
  const sources = prepareProfiles(reader);
  const service: Service = {
    deps,
    transport,
    reader,
    log,
    nextRequestId: requestIds(deps.random),
    verify: prepareVerifier(reader, clock),
    ...(shared === undefined ? openOwn(deps, report) : { ...shared, usage: null }),
    metrics,
    lookup: prepareLookup(reader, sources),
    leaderboard: prepareLeaderboard(reader, sources),
    answers: prepareAnswers(isSecure),
    refusals: prepareRefusals(isSecure),
    collector: createCollector(),
    isReady: () => isReady(db),
    connections: { server: null },
    bridge: portal === undefined ? NO_BRIDGE : createBridge({ ...portal, log, refuse: unansweredOf(() => service) }),
    feed: { command: feedCommand, pace: feedPace, isBusy: false },
  };
  return service;
}

/** Opens the parts that workers would share, for a server with one thread. */
function openOwn({ config, clock, random }: ServerDeps, report: Report): Shared & { usage: Usage } {
  const usage = openUsage(config.databasePath, clock, report);
  return {
    usage,
    counter: usage.counter,
    throttle: joinThrottle(createThrottleMemory(random), 1, clock),
    limits: openLimits(config.databasePath, clock, report),
    sendBuffers: joinSendBuffers(createSendBufferMemory(1), 0),
  };
}

const NO_BRIDGE: Bridge = {
  fetch: () => {
    throw new AppError('internal', null, { cause: 'The service was made without a portal.' });
  },
};

/** Refuses requests that the portal's thread doesn't answer. Loads the portal for the first one. */
function unansweredOf(service: () => Service): BridgeParts['refuse'] {
  let prepared: Promise<BridgeParts['refuse']> | null = null;
  const prepare = async () => {
    const { prepareUnanswered } = await import('../portal/unanswered.ts');
    const { deps, log } = service();
    return prepareUnanswered(deps.config, reportTo(log));
  };
  return async (request, error) => {
    prepared ??= prepare();
    return (await prepared)(request, error);
  };
}

/** Saves what keys have spent of their limits, and the usage; closes these and the reader. The caller closes the database. */
export function closeService(service: Service): void {
  service.limits.close();
  if (service.usage !== null) closeUsage(service.usage);
  closeReader(service.reader);
}
