import { Elysia } from 'elysia';
import { api, otherRequests } from './api/api.ts';
import { health, securityContact } from './api/health.ts';
import { metrics } from './api/metrics.ts';
import { unknownPaths } from './api/unknown.ts';
import { documents } from './docs/routes.ts';
import { pageStyle } from './portal/style-route.ts';
import { feed } from './process/feed/route.ts';
import { forwardCalls, forwardPages } from './process/portal-forward.ts';
import type { Service } from './process/service.ts';

/**
 * The serving application, with all routes. Each area applies the plugins of `http/` that its requests pass before their
 * route. Tests try every refusal on every entry of `routes`.
 */
export function createApp(service: Service) {
  const { tls, developerPlatform } = service.deps.config;
  const app = new Elysia({
    strictPath: true,
    // Sets the index from which Elysia searches for a URL's path; `routable` rewrites URLs whose path begins before it.
    handler: { standardHostname: tls !== null },
  })
    .use(api(service))
    .use(otherRequests(service))
    .use(health(service))
    .use(metrics(service))
    .use(securityContact(service))
    .use(documents(service));
  if (developerPlatform) {
    app.use(feed(service)).use(forwardCalls(service));
    app.use(pageStyle(service)).use(forwardPages(service));
  }
  return app.use(unknownPaths(service)).compile();
}
