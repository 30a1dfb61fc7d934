import { Elysia } from 'elysia';
import { health, securityContact } from './api/health.ts';
import { leaderboard } from './api/leaderboard.ts';
import { lookup } from './api/lookup.ts';
import { lookupMany } from './api/lookup-many.ts';
import { metrics } from './api/metrics.ts';
import { ownKey } from './api/own-key.ts';
import { unknownApiPaths, unknownPaths } from './api/unknown.ts';
import { documents } from './docs/routes.ts';
import { forwardToPortal } from './process/portal-forward.ts';
import type { Service } from './process/service.ts';

/**
 * The serving application, with all routes. Each area applies the plugins of `http/` that its requests pass before their
 * route. Tests try every refusal on every entry of `routes`.
 */
export function createApp(service: Service) {
  const app = new Elysia({
    strictPath: true,
    // Tells Elysia where a URL's path begins; `routable` rewrites URLs in which it begins elsewhere.
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
    .use(forwardToPortal(service))
    .use(unknownPaths(service))
    .compile();
  service.application = app;
  return app;
}
