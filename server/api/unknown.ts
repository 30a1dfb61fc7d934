import { Elysia } from 'elysia';
import { AppError } from '../../shared/errors.ts';
import { transport } from '../http/every-request.ts';
import type { Serving } from '../http/serving.ts';
import { withKey } from '../http/with-key.ts';

// If no route matches, Elysia runs only the error hook, so every path has a route.

/** All other paths under `/api`: `unknown_path` for a valid key, which spends a request; otherwise a 401. */
export function unknownApiPaths(serving: Serving) {
  return new Elysia({ name: 'unknown-api-paths' })
    .use(withKey(serving))
    .all('/api', refuse)
    .head('/api', refuse)
    .all('/api/*', refuse);
}

/** All other paths. */
export function unknownPaths(serving: Serving) {
  return new Elysia({ name: 'unknown-paths' }).use(transport(serving)).all('/*', refuse);
}

function refuse(): never {
  throw new AppError('unknown_path');
}
