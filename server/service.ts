import type { Config } from '../shared/config/config.ts';
import { isReady } from '../shared/db/migrate.ts';
import { closeReader, openReader } from '../shared/db/reader.ts';
import { createDeps, type Deps } from '../shared/deps.ts';
import { openDatabase } from '../shared/files/open.ts';
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
import { readTransport } from './http/transport.ts';
import { type Log, reportTo } from './observability/log.ts';
import { createMetrics } from './observability/metrics.ts';
import { createPortalServices, type PortalServices } from './portal/services.ts';

/** Everything that answers requests. */
export type Service = Serving & {
  portal: PortalServices;
};

/** Prepares everything for answering requests. Throws `bad_config` if keys would be sent unencrypted. */
export function createService(deps: Deps, log: Log, portal?: PortalServices): Service {
  const { db, clock, config } = deps;
  const transport = readTransport(config);
  const report = reportTo(log);
  const reader = openReader(config.databasePath);
  const limits = portal?.limits ?? openLimits(clock, readStored(reader.sqlite));
  const service: Service = {
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
    leaderboard: prepareLeaderboard(reader, clock),
    isReady: () => isReady(db.$client),
    portal: portal ?? createPortalServices(() => openForPages(service.deps.config), clock, report, limits),
  };
  return service;
}

/**
 * Answers a request for which the application itself threw, which should never happen. The request is unknown here, so the
 * response and the log have a new id.
 */
export function refuseUncaught({ nextRequestId, log }: Service, error: unknown): Response {
  const requestId = nextRequestId();
  const { response } = refuse(error, null);
  response.headers.set('X-Request-Id', requestId);
  log.event('error', 'A request failed.', { requestId, cause: error });
  return response;
}

/** Opens the connection of the pages to the database, which must exist and be current. Throws `refused`. */
function openForPages(config: Config): Deps {
  return createDeps(openDatabase(config.databasePath, 'pages'), config);
}

/** The caller closes the database. */
export function closeService({ reader }: Service): void {
  closeReader(reader);
}
