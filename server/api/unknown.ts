import { Elysia } from 'elysia';
import { AppError } from '../../shared/errors.ts';
import { transport } from '../http/every-request.ts';
import type { Serving } from '../http/serving.ts';

/** All other paths. If no route matched, Elysia would run only the error hook. */
export function unknownPaths(serving: Serving) {
  return new Elysia({ name: 'unknown-paths' }).use(transport(serving)).all('/*', refuse);
}

function refuse(): never {
  throw new AppError('unknown_path');
}
