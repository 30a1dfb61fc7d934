import { Elysia } from 'elysia';
import { api } from './api/api.ts';
import { health, securityContact } from './api/health.ts';
import { metrics } from './api/metrics.ts';
import { documents } from './docs/routes.ts';
import { transport } from './http/every-request.ts';
import { refuseRest } from './http/other-requests.ts';
import { manage } from './manage/app.ts';
import { pages } from './portal/app.ts';
import type { Service } from './service.ts';

/**
 * The application, with all routes. Each area applies the plugins of `http/` that its requests pass before their
 * route. Tests try every refusal on every entry of `routes`.
 */
export function createApp(service: Service) {
  const { tls, developerPlatform } = service.deps.config;
  const app = new Elysia({
    strictPath: true,
    // Sets the index from which Elysia searches for a URL's path; see `isRoutable`.
    handler: { standardHostname: tls !== null },
  })
    .use(api(service))
    .use(health(service))
    .use(metrics(service))
    .use(securityContact(service))
    .use(documents(service));
  if (developerPlatform) for (const area of [manage(service), ...pages(service)]) app.use(area);
  // If no route matched, Elysia would run only the error hook.
  const others = new Elysia({ name: 'unknown-paths' }).use(transport(service)).all('/*', refuseRest([...app.routes]));
  return app.use(others).compile();
}
