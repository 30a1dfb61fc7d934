import { Elysia } from 'elysia';
import { health, securityContact } from './api/health.ts';
import { leaderboard } from './api/leaderboard.ts';
import { lookup } from './api/lookup.ts';
import { lookupMany } from './api/lookup-many.ts';
import { metrics } from './api/metrics.ts';
import { ownKey } from './api/own-key.ts';
import { unknownApiPaths, unknownPaths } from './api/unknown.ts';
import { documents } from './docs/routes.ts';
import { portal } from './process/portal-forward.ts';
import type { Service } from './process/service.ts';

/**
 * The serving application: all that is at any path. What a request passes before its route, each area says by the plugins of
 * `http/` that it uses. Tests try every refusal on every route of `routes`.
 */
export function createApp(service: Service) {
  const app = new Elysia({
    strictPath: true,
    // Where Elysia looks for the path; `routable` sees to URLs in which it is elsewhere.
    handler: { standardHostname: service.deps.config.tls !== null },
  })
    .use(lookup(service))
    .use(lookupMany(service))
    .use(leaderboard(service))
    .use(ownKey(service))
    .use(unknownApiPaths(service))
    .use(health(service))
    .use(metrics(service))
    .use(securityContact(service))
    .use(documents(service))
    .use(portal(service))
    .use(unknownPaths(service))
    .compile();
  service.application = app;
  return app;
}
