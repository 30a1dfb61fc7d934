import { Elysia } from 'elysia';
import { countFailure } from '../shared/throttle.ts';
import { api } from './api/api.ts';
import { health, securityContact } from './api/health.ts';
import { metrics } from './api/metrics.ts';
import { documents } from './docs/routes.ts';
import { requestState, transport } from './http/every-request.ts';
import { refuseRest } from './http/other-requests.ts';
import { blockOf } from './http/transport.ts';
import { manage } from './manage/app.ts';
import { reportTo } from './observability/log.ts';
import { pages } from './portal/app.ts';
import type { PortalParts } from './portal/guards.ts';
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
  if (developerPlatform) {
    app.use(developerPlatformOf(service));
  }
  // If no route matched, Elysia would run only the error hook.
  const others = new Elysia({ name: 'unknown-paths' }).use(transport(service)).all('/*', refuseRest([...app.routes]));
  return app.use(others).compile();
}

/** The pages under `/developers`, and JSON under `/manage`, where a refused token counts as a failed login as under `/api`. */
function developerPlatformOf(service: Service) {
  const { connections, deps, log, portal, throttle } = service;
  const parts: PortalParts = {
    config: deps.config,
    open: () => portal,
    report: reportTo(log),
    transport: service.transport,
  };
  return new Elysia({ name: 'developer-platform' })
    .use(requestState(service))
    .use(
      manage({
        ...parts,
        countRefusedToken: (address) => countFailure(throttle, blockOf(address)),
        keepOpen: (request, seconds) => connections?.timeout(request, seconds),
      }),
    )
    .use(pages(parts));
}
