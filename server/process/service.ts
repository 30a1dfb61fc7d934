import { closeReader, openReader, type Reader } from '../../shared/db/reader.ts';
import { isReady } from '../../shared/db/ready.ts';
import type { ServerDeps } from '../../shared/deps.ts';
import { prepareVerifier, type Verifier } from '../../shared/keys/verify.ts';
import type { Report } from '../../shared/limits/ledger.ts';
import type { Limits } from '../../shared/limits/limits.ts';
import { openLimits } from '../../shared/limits/one-thread.ts';
import { prepareProfiles } from '../../shared/profiles/read/cache.ts';
import { type Leaderboard, prepareLeaderboard } from '../../shared/profiles/read/leaderboard.ts';
import { type Lookup, prepareLookup } from '../../shared/profiles/read/lookup.ts';
import { openUsage, type Usage } from '../../shared/usage/usage.ts';
import { type Answers, prepareAnswers } from '../request/answers.ts';
import { requestIds } from '../request/exchange.ts';
import { prepareRefusals, type Refuse } from '../request/refusals.ts';
import { createThrottleMemory, joinThrottle, type Throttle } from '../request/throttle.ts';
import { checkTransport, type Transport } from '../request/transport.ts';
import { createUnsentMemory, joinUnsent, type Unsent } from '../request/unsent.ts';
import { createLog, type Log } from '../watching/log.ts';
import type { Metrics } from '../watching/metrics.ts';
import { createCollector, createSweeper } from './collector.ts';

/** What the server works with: everything that is prepared once. */
export type Service = {
  deps: ServerDeps;
  transport: Transport;
  reader: Reader;
  log: Log;
  nextRequestId: () => string;
  verify: Verifier;
  throttle: Throttle;
  limits: Limits;
  usage: Usage;
  unsent: Unsent;
  /** Null while METRICS_TOKEN is unset: nobody could read it. */
  metrics: Metrics | null;
  lookup: Lookup;
  leaderboard: Leaderboard;
  answers: Answers;
  refuse: Refuse;
  /** After each request. */
  collect: () => void;
  /** After each part of a long answer, with its bytes. */
  sweep: (bytes: number) => void;
  isReady: () => boolean;
};

/** What several workers have in common. */
export type Shared = Pick<Service, 'limits' | 'throttle' | 'usage' | 'unsent'>;

/** Prepares all of it. Throws `bad_config` where the configuration would send keys in clear. */
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
  return {
    deps,
    transport,
    reader,
    log,
    nextRequestId: requestIds(deps.random),
    verify: prepareVerifier(reader, db, clock),
    throttle: shared?.throttle ?? joinThrottle(createThrottleMemory(deps.random), 1, clock),
    limits: shared?.limits ?? openLimits(config.databasePath, clock, report),
    usage: shared?.usage ?? openUsage(config.databasePath, clock, report),
    unsent: shared?.unsent ?? joinUnsent(createUnsentMemory(1), 0),
    metrics,
    lookup: prepareLookup(reader, sources),
    leaderboard: prepareLeaderboard(reader, sources),
    answers: prepareAnswers(isSecure),
    refuse: prepareRefusals(isSecure),
    collect: createCollector(),
    sweep: createSweeper(),
    isReady: () => isReady(db),
  };
}

/** Writes down quotas and usage. The database is its opener's to close. */
export function closeService(service: Service): void {
  service.limits.close();
  service.usage.close();
  closeReader(service.reader);
}
