import { AppError } from '../../shared/errors.ts';
import type { RequestState } from '../service.ts';
import { decode } from './parameters.ts';

/** A route of an application. */
type Route = { readonly method: string; readonly path: string };

/** The path of the route that a path matches; null if none does, or the path can't be decoded. */
export function routeOf(routes: readonly Route[], path: string): string | null {
  if (decode(path) === undefined) return null;
  const isMatch = (template: string) =>
    new RegExp(`^${template.replaceAll('.', '\\.').replaceAll(/:\w+/g, '[^/]+')}$`).test(path);
  return routes.find(({ path: template, method }) => method !== 'ALL' && isMatch(template))?.path ?? null;
}

/**
 * The handler of all requests that match none of these routes: throws `method_not_allowed`, with the methods, on the path of one,
 * which log and metrics then name, and otherwise `unknown_path`.
 */
export function refuseRest(routes: readonly Route[]) {
  return ({ path, state }: { path: string; state: Pick<RequestState, 'template'> }): never => {
    const template = routeOf(routes, path);
    if (template === null) throw new AppError('unknown_path');
    state.template = template;
    const methods = routes
      .filter(({ path: other, method }) => other === template && method !== 'ALL')
      .flatMap(({ method }) => (method === 'GET' ? ['GET', 'HEAD'] : [method]));
    const sentence = `This path only supports ${methods.join(', ').replace(/, (\w+)$/, ' and $1')}.`;
    throw new AppError('method_not_allowed', sentence, { allow: methods.join(', ') });
  };
}
