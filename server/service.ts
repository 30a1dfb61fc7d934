import { isReady } from '../shared/db/migrate.ts';
import { openReader } from '../shared/db/reader.ts';
import type { Deps } from '../shared/deps.ts';
import { prepareVerifier } from '../shared/keys/verify.ts';
import { openLimits } from '../shared/limits/limits.ts';
import { readStored } from '../shared/limits/stored.ts';
import { prepareLeaderboard } from '../shared/profiles/board.ts';
import { prepareLookup } from '../shared/profiles/lookup.ts';
import { createFailureThrottle } from '../shared/throttle.ts';
import { createUsage } from '../shared/usage/usage.ts';
import { refuse } from './http/answers.ts';
import { requestIds } from './http/every-request.ts';
import type { Serving } from './http/serving.ts';
import type { Transport } from './http/transport.ts';
import { type Log, reportTo } from './observability/log.ts';
import { createMetrics } from './observability/metrics.ts';
import { createPortalServices, type PortalServices } from './portal/services.ts';

/** Everything that answers requests. */
export type Service = Serving & {
  portal: PortalServices;
};

/** Prepares everything for answering requests. `givenPortal` is that of a test, which closes it. */
export function createService(deps: Deps, transport: Transport, log: Log, givenPortal?: PortalServices): Service {
  const { db, clock, config } = deps;
  const reader = openReader(config.databasePath);
  const limits = givenPortal?.limits ?? openLimits(clock, readStored(reader.sqlite));
  return {
    deps,
    transport,
    reader,
    log,
    connections: null,
    nextRequestId: requestIds(deps.random),
    verify: prepareVerifier(reader, clock),
    usage: createUsage(clock),
    throttle: createFailureThrottle(clock),
    limits,
    metrics: config.metricsToken === null ? null : createMetrics(deps),
    lookup: prepareLookup(reader),
    leaderboard: prepareLeaderboard(reader),
    isReady: () => isReady(db.$client),
    portal: givenPortal ?? createPortalServices(deps, reportTo(log), limits),
  };
}

/**
 * Answers a request for which the application itself threw, which should never happen. The request is unknown here, so the
 * response and the log have a new id.
 */
export function refuseUncaught({ nextRequestId, log, deps }: Service, error: unknown): Response {
  const requestId = nextRequestId();
  const { response } = refuse(deps.config.databasePath, error, null);
  response.headers.set('X-Request-Id', requestId);
  log.event('error', 'A request failed.', { requestId, cause: error });
  return response;
}
