import { Elysia } from 'elysia';
import { answerExchange, type Route } from './chain.ts';
import type { Exchange } from './exchange.ts';
import { health, readiness, securityContact } from './routes/health.ts';
import { ownKey } from './routes/key.ts';
import { leaderboardPage } from './routes/leaderboard.ts';
import { linksBy, profileBy } from './routes/lookup.ts';
import type { Service } from './service.ts';

/** The whole HTTP surface. Tests run every refusal against every entry, and the OpenAPI document is made of it. */
export const ROUTES: readonly Route[] = [
  { path: '/api/lookup/username/:username', access: 'api.lookup', answer: profileBy('username') },
  { path: '/api/lookup/username/:username/links', access: 'api.lookup', answer: linksBy('username') },
  { path: '/api/lookup/uid/:uid', access: 'api.lookup', answer: profileBy('uid') },
  { path: '/api/lookup/uid/:uid/links', access: 'api.lookup', answer: linksBy('uid') },
  { path: '/api/lookup/authid/:authId', access: 'api.lookup', answer: profileBy('authId') },
  { path: '/api/lookup/authid/:authId/links', access: 'api.lookup', answer: linksBy('authId') },
  { path: '/api/leaderboard', access: 'api.leaderboard', answer: leaderboardPage },
  { path: '/api/key', access: 'any key', isFree: true, answer: ownKey },
  { path: '/healthz', access: 'anyone', answer: health },
  { path: '/readyz', access: 'anyone', answer: readiness },
  { path: '/.well-known/security.txt', access: 'anyone', answer: securityContact },
];

/** Everything else: under `/api` even what is not there is told to holders of a key only. */
export const UNKNOWN: readonly Route[] = [
  { path: '/api', access: 'any key' },
  { path: '/api/*', access: 'any key' },
  { path: '/*', access: 'anyone' },
];

/** Answers requests that have been taken in. */
export type App = (exchange: Exchange) => Response;

/** The Elysia app: it finds the route, and every route goes through the one chain. */
export function createApp(service: Service): App {
  const app = new Elysia({ strictPath: true, precompile: true, handler: { standardHostname: false } });
  for (const route of [...ROUTES, ...UNKNOWN]) {
    const handler = ({ request }: { request: Request }) =>
      answerExchange(service, route, request as unknown as Exchange);
    // HEAD has its own entry, since Elysia's goes through GET's and reads the whole body to measure it.
    app.all(route.path, handler).head(route.path, handler);
  }
  const { fetch } = app.compile();
  return (exchange) => fetch(exchange as unknown as Request) as Response;
}
