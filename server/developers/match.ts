import { AppError } from '../../shared/errors.ts';
import type { PageRoute } from './visit.ts';

/** What is needed of a route to find it. */
type Matchable = { method: string; path: string };

/** A route whose path is that of a request, and the parts of the path that stand for its `:name`s, decoded. */
export type Found<Route extends Matchable = PageRoute> = { route: Route; params: Record<string, string> };

/**
 * The routes of a path, all with the same template. One without parameters goes before one with. Throws `unknown_path`.
 */
export function findRoutes<Route extends Matchable>(routes: readonly Route[], path: string): Found<Route>[] {
  const matching = routes.flatMap((route): Found<Route>[] => {
    const params = matchPath(route.path, path);
    return params === null ? [] : [{ route, params }];
  });
  const exact = matching.filter(({ route }) => route.path === path);
  const found = exact.length > 0 ? exact : matching;
  if (found.length === 0) throw new AppError('unknown_path');
  return found;
}

/**
 * The one of a path's routes for a method; HEAD has that of GET. Throws `method_not_allowed` with the methods that the path
 * has.
 */
export function chooseMethod<Route extends Matchable>(found: readonly Found<Route>[], method: string): Found<Route> {
  const wanted = method === 'HEAD' ? 'GET' : method;
  const right = found.find(({ route }) => route.method === wanted);
  if (right !== undefined) return right;
  const methods = found.flatMap(({ route }) => (route.method === 'GET' ? ['GET', 'HEAD'] : [route.method]));
  const sentence = `This path answers ${methods.join(', ').replace(/, (\w+)$/, ' and $1')} only.`;
  throw new AppError('method_not_allowed', sentence, { allow: methods.join(', ') });
}

/** The parameters of a path that matches a template, or null. A part that can't be decoded matches nothing. */
export function matchPath(template: string, path: string): Record<string, string> | null {
  const wanted = template.split('/');
  const parts = path.split('/');
  if (wanted.length !== parts.length) return null;
  const params: Record<string, string> = {};
  for (const [at, want] of wanted.entries()) {
    const part = parts[at] as string;
    if (!want.startsWith(':')) {
      if (part !== want) return null;
      continue;
    }
    const value = decode(part);
    if (value === null || value === '') return null;
    params[want.slice(1)] = value;
  }
  return params;
}

/**
 * Plain paths only, with percent-encoded parameters: nothing that a browser would read as another path, and nothing that ends
 * a header.
 */
const PLAIN_PATH = /^((?:\/[A-Za-z0-9_-]+)+)(?:\?(.+))?$/;
const PLAIN_PARAMETER = /^([A-Za-z_-]+)=(?:[A-Za-z0-9_.~!'()*-]|%[0-9A-Fa-f]{2})*$/;

/** The longest path, with its parameters, to go on to after signing in. */
const MOST_PATH = 2_000;

/**
 * Whether a GET of this path is a page of ours, and its parameters, if there are any, are those that the page reads: only such
 * a path is somewhere to go on to after signing in.
 */
export function isPagePath(routes: readonly (Matchable & Pick<PageRoute, 'query'>)[], path: string): boolean {
  const [, bare, parameters] = (path.length <= MOST_PATH && PLAIN_PATH.exec(path)) || [];
  if (bare === undefined) return false;
  const names = parameters?.split('&').map((pair) => PLAIN_PARAMETER.exec(pair)?.[1]) ?? [];
  return routes.some(({ method, path: template, query = [] }) => {
    const areRead = names.every((name) => name !== undefined && query.includes(name));
    return method === 'GET' && areRead && matchPath(template, bare) !== null;
  });
}

function decode(part: string): string | null {
  try {
    return decodeURIComponent(part);
  } catch {
    return null;
  }
}
