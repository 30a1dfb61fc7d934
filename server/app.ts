import { Elysia } from 'elysia';
import { isReady } from '../shared/db/migrate.ts';
import { openReader } from '../shared/db/reader.ts';
import type { Deps } from '../shared/deps.ts';
import { prepareVerifier } from '../shared/keys/verify.ts';
import { openLimits } from '../shared/limits/limits.ts';
import { readStored } from '../shared/limits/stored.ts';
import { prepareLeaderboard } from '../shared/profiles/board.ts';
import { prepareLookup } from '../shared/profiles/lookup.ts';
import { createCodeDesk } from '../shared/sign-in/codes.ts';
import { createFailureThrottle } from '../shared/throttle.ts';
import { createUsage } from '../shared/usage/usage.ts';
import { api } from './api/api.ts';
import { health, securityContact } from './api/health.ts';
import { metrics } from './api/metrics.ts';
import { createBackground } from './background.ts';
import { documents } from './docs/routes.ts';
import { requestIds, transport } from './http/every-request.ts';
import { refuseRest } from './http/other-requests.ts';
import type { Transport } from './http/transport.ts';
import type { Log } from './observability/log.ts';
import { createMetrics } from './observability/metrics.ts';
import type { Service } from './service.ts';

/** Prepares everything for answering requests. */
export function createService(deps: Deps, transport: Transport, log: Log): Service {
  const { db, clock, config } = deps;
  const reader = openReader(config.databasePath);
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
    limits: openLimits(clock, readStored(reader.sqlite)),
    metrics: config.metricsToken === null ? null : createMetrics(deps),
    lookup: prepareLookup(reader),
    leaderboard: prepareLeaderboard(reader),
    isReady: () => isReady(db.$client),
    background: createBackground(),
    formThrottles: new Map(),
    codes: createCodeDesk(clock),
    isStopping: false,
  };
}

/**
 * The application without what {@link addPlatform} adds. Each area applies the plugins of `http/` that its requests pass before
 * their route. Tests try every refusal on every entry of `routes`.
 */
export function createApp(service: Service) {
  const app = new Elysia({
    strictPath: true,
    // Sets the index from which Elysia searches for a URL's path; see `isRoutable`.
    handler: { standardHostname: service.deps.config.tls !== null },
  })
    .use(api(service))
    .use(health(service))
    .use(metrics(service))
    .use(securityContact(service))
    .use(documents(service));
  // If no route matched, Elysia would run only the error hook.
  const others = new Elysia({ name: 'unknown-paths' }).use(transport(service)).all('/*', refuseRest([...app.routes]));
  return app.use(others).compile();
}

/** Adds the backend's routes and the pages. Loading their code takes a fifth of the start, so the API answers before it. */
export async function addPlatform(app: ReturnType<typeof createApp>, service: Service): Promise<void> {
  const [{ manage }, { pages }] = await Promise.all([import('./manage/app.ts'), import('./portal/app.ts')]);
  for (const area of [manage(service), ...pages(service)]) app.use(area);
  app.compile();
}
