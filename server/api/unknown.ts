import { Elysia } from 'elysia';
import { AppError } from '../../shared/errors.ts';
import { transport } from '../http/every-request.ts';
import type { Serving } from '../http/serving.ts';
import { withKey } from '../http/with-key.ts';

// If no route matches, Elysia runs only the hook for errors, so every path has a route.

/** All other paths under `/api`: only with a valid key is the answer `unknown_path`, and it costs a request. */
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
