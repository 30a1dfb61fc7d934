import { Elysia } from 'elysia';
import { refuseRest } from '../http/other-requests.ts';
import { type Spends, withKey } from '../http/with-key.ts';
import type { Service } from '../service.ts';
import { leaderboard } from './leaderboard.ts';
import { lookup } from './lookup.ts';
import { lookupMany } from './lookup-many.ts';
import { ownKey } from './own-key.ts';

/** The routes of the API. */
export function apiRoutes(service: Service) {
  return new Elysia({ name: 'api' })
    .use(lookup(service))
    .use(lookupMany(service))
    .use(leaderboard(service))
    .use(ownKey(service));
}

/**
 * The routes of the API, and all other requests under `/api`: with a valid key, `method_not_allowed` on the path of a route and
 * otherwise `unknown_path`; without one a 401. If no route matched, Elysia would run only the error hook.
 */
export function api(service: Service) {
  const routes = apiRoutes(service);
  const refuse = refuseRest([...routes.routes]);
  const others = (spends: Spends) => new Elysia({ name: 'other-requests', seed: spends }).use(withKey(service, spends));
  return routes
    .use(others('nothing').all('/api/key', refuse))
    .use(others('one').all('/api', refuse).all('/api/*', refuse));
}
