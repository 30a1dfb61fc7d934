import { Elysia } from 'elysia';
import { leaderboardPage } from './api/leaderboard.ts';
import { linksBy, profileBy, profilesOfMany } from './api/lookup.ts';
import { ownKey } from './api/own-key.ts';
import { docs, home, openApi, tryIt, tryItScript, tryItStyle } from './docs/routes.ts';
import { TRY_PATHS } from './docs/try/paths.ts';
import { answerExchange, type Route } from './http/chain.ts';
import type { Exchange } from './http/exchange.ts';
import { hasContact, health, readiness, securityContact } from './observability/health.ts';
import { hasMetrics, metrics } from './observability/scrape.ts';
import type { Service } from './process/service.ts';

/** All routes. Tests try every refusal on every entry, and the OpenAPI document is made of this list. */
export const ROUTES: readonly Route[] = [
  { path: '/api/lookup/username/:username', access: 'api.lookup', answer: profileBy('username') },
  { path: '/api/lookup/username/:username/links', access: 'api.lookup', answer: linksBy('username') },
  { path: '/api/lookup/uid/:uid', access: 'api.lookup', answer: profileBy('uid') },
  { path: '/api/lookup/uid/:uid/links', access: 'api.lookup', answer: linksBy('uid') },
  { path: '/api/lookup/authid/:authId', access: 'api.lookup', answer: profileBy('authId') },
  { path: '/api/lookup/authid/:authId/links', access: 'api.lookup', answer: linksBy('authId') },
  { path: '/api/lookup', access: 'api.lookup', spends: 'what it asks for', answer: profilesOfMany },
  { path: '/api/leaderboard', access: 'api.leaderboard', answer: leaderboardPage },
  { path: '/api/key', access: 'any key', spends: 'nothing', answer: ownKey },
  { path: '/healthz', access: 'anyone', answer: health },
  { path: '/readyz', access: 'anyone', answer: readiness },
  { path: '/metrics', access: 'anyone', isThere: hasMetrics, answer: metrics },
  { path: '/.well-known/security.txt', access: 'anyone', isThere: hasContact, answer: securityContact },
  { path: '/openapi.json', access: 'anyone', answer: openApi },
  { path: '/docs', access: 'anyone', answer: docs },
  { path: TRY_PATHS.page, access: 'anyone', answer: tryIt },
  { path: TRY_PATHS.script, access: 'anyone', answer: tryItScript },
  { path: TRY_PATHS.style, access: 'anyone', answer: tryItStyle },
  { path: '/', access: 'anyone', answer: home },
];

/** All other paths. Under `/api`, only the holder of a key is told that a path is unknown. */
export const UNKNOWN: readonly Route[] = [
  { path: '/api', access: 'any key' },
  { path: '/api/*', access: 'any key' },
  { path: '/*', access: 'anyone' },
];

/** The paths of the pages for owners and admins, whose table is in `developers/routes.ts`. */
const PAGES = ['/developers', '/developers/*'];

/** The paths for backends, whose table is in `manage/routes.ts`. */
const MANAGE = ['/manage', '/manage/*'];

/** Answers requests that {@link openExchange} has taken in. */
export type App = (exchange: Exchange) => Response | Promise<Response>;

function answerContext(service: Service, route: Route, { request }: { request: Request }) {
  return answerExchange(service, route, request as unknown as Exchange);
}

async function answerPage(service: Service, { request }: { request: Request }): Promise<Response> {
  const { forwardToPortal } = await import('./process/portal-forward.ts');
  return forwardToPortal(service, request as unknown as Exchange);
}

async function answerCall(service: Service, { request }: { request: Request }): Promise<Response> {
  const { answerManage } = await import('./manage/forward.ts');
  return answerManage(service, request as unknown as Exchange);
}

/** Makes the Elysia app, which finds the route of a request and passes it to the one chain. */
export function createApp(service: Service): App {
  const app = new Elysia({ strictPath: true, handler: { standardHostname: false } });
  for (const route of [...ROUTES, ...UNKNOWN]) {
    // Elysia reads the source of a handler, and awaits one that has `return f(…)` in it. A bound function hides its source.
    const handler = answerContext.bind(null, service, route);
    // HEAD needs an entry of its own: by default Elysia runs GET's handler for it, and reads the whole body to measure it.
    app.all(route.path, handler).head(route.path, handler);
  }
  if (service.deps.config.developerPlatform) {
    const [page, call] = [answerPage.bind(null, service), answerCall.bind(null, service)];
    for (const path of PAGES) app.all(path, page).head(path, page);
    for (const path of MANAGE) app.all(path, call).head(path, call);
  }
  const { fetch } = app.compile();
  return (exchange) => fetch(exchange as unknown as Request);
}
