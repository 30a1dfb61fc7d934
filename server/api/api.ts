import { Elysia } from 'elysia';
import { AppError } from '../../shared/errors.ts';
import type { Serving } from '../http/serving.ts';
import { type Spends, withKey } from '../http/with-key.ts';
import { leaderboard } from './leaderboard.ts';
import { lookup } from './lookup.ts';
import { lookupMany } from './lookup-many.ts';
import { ownKey } from './own-key.ts';

/** The routes of the API. */
export function api(serving: Serving) {
  return new Elysia({ name: 'api' })
    .use(lookup(serving))
    .use(lookupMany(serving))
    .use(leaderboard(serving))
    .use(ownKey(serving));
}

/**
 * All other requests under `/api`: with a valid key, `method_not_allowed` on the path of a route and otherwise `unknown_path`;
 * without one a 401. If no route matched, Elysia would run only the error hook.
 */
export function otherRequests(serving: Serving) {
  const routes = api(serving).routes.map(({ path }) => ({
    path,
    pattern: new RegExp(`^${path.replace(/:\w+/g, '[^/]+')}$`),
  }));
  const routeOf = (path: string) => routes.find(({ pattern }) => pattern.test(path))?.path ?? null;
  const refuse = ({ path }: { path: string }) => {
    throw new AppError(routeOf(path) === null ? 'unknown_path' : 'method_not_allowed');
  };
  const others = (spends: Spends) =>
    new Elysia({ name: 'other-requests', seed: spends })
      .use(withKey(serving, spends))
      .onBeforeHandle(({ path, state }) => {
        state.template = routeOf(path);
      });
  return new Elysia({ name: 'all-other-requests' })
    .use(others('nothing').all('/api/key', refuse))
    .use(others('one').all('/api', refuse).all('/api/*', refuse));
}
