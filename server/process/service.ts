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
import { requestIds } from '../http/request-state.ts';
import { createSendBufferMemory, joinSendBuffers } from '../http/send-buffer-limit.ts';
import type { Serving } from '../http/serving.ts';
import { createThrottleMemory, joinThrottle } from '../http/throttle.ts';
import { readTransport } from '../http/transport.ts';
import { createCollector } from '../observability/collector.ts';
import { createLog, reportTo } from '../observability/log.ts';
import type { Metrics } from '../observability/metrics.ts';
import { type ArrivalPace, FEED_PACE } from './feed/arrival.ts';
import { type Bridge, type BridgeParts, createBridge } from './portal-bridge.ts';

/** Everything that a serving thread works with. */
export type Service = Serving & {
  /** Saves what `counter` has counted; null in a worker, which sends its counts to the main thread. */
  usage: Usage | null;
  /** Forwards requests to the portal's thread; {@link connectPortal} sets it. */
  bridge: Bridge;
  feed: FeedState;
};

/** How a backend's profiles are imported: by which command, how fast they must arrive, and whether an import is running. */
export type FeedState = {
  /** Set by the code that starts the server; null if profiles are not accepted. */
  command: readonly string[] | null;
  pace: ArrivalPace;
  isBusy: boolean;
};

/** What a worker provides itself, because it is shared with other workers or sent to the main thread. */
export type Shared = Pick<Service, 'limits' | 'throttle' | 'counter' | 'sendBuffers'>;

/**
 * Prepares everything that answering requests needs, and opens what `shared` doesn't provide. Throws `bad_config` if keys
 * would be sent unencrypted.
 */
export function createService(
  deps: ServerDeps,
  writeLog: (line: string) => void,
  metrics: Metrics | null = null,
  shared: Shared | null = null,
): Service {
  const { db, clock, config } = deps;
  const transport = readTransport(config);
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
    sendBuffers: shared?.sendBuffers ?? joinSendBuffers(createSendBufferMemory(1), 0),
    metrics,
    lookup: prepareLookup(reader, sources),
    leaderboard: prepareLeaderboard(reader, sources),
    answers: prepareAnswers(isSecure),
    refusals: prepareRefusals(isSecure),
    collector: createCollector(),
    isReady: () => isReady(db),
    application: { server: null },
    bridge: { fetch: noPortal },
    feed: { command: null, pace: FEED_PACE, isBusy: false },
  };
}

function noPortal(): Promise<Response> {
  throw new AppError('internal', null, { cause: 'The service was made without a portal.' });
}

/** Connects a service with the portal's thread. Requests that it doesn't answer get the portal's refusals from here. */
export function connectPortal(service: Service, parts: Pick<BridgeParts, 'connect' | 'end' | 'answerMs'>): void {
  let prepared: Promise<BridgeParts['refuse']> | null = null;
  const prepare = async () => {
    const { prepareUnanswered } = await import('../portal/unanswered.ts');
    return prepareUnanswered(service.deps.config, reportTo(service.log));
  };
  const refuse: BridgeParts['refuse'] = async (request, error) => {
    prepared ??= prepare();
    return (await prepared)(request, error);
  };
  service.bridge = createBridge({ ...parts, log: service.log, refuse });
}

/** Writes the quotas and the usage, and closes both. The database itself is left to its opener. */
export function closeService(service: Service): void {
  service.limits.close();
  if (service.usage !== null) closeUsage(service.usage);
  closeReader(service.reader);
}
