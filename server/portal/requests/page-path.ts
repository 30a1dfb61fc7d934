import type { PageRoute } from './request-context.ts';

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
export function isPagePath(routes: readonly Pick<PageRoute, 'method' | 'path' | 'query'>[], path: string): boolean {
  const [, bare, parameters] = (path.length <= MOST_PATH && PLAIN_PATH.exec(path)) || [];
  if (bare === undefined) return false;
  const names = parameters?.split('&').map((pair) => PLAIN_PARAMETER.exec(pair)?.[1]) ?? [];
  return routes.some(({ method, path: template, query = [] }) => {
    const areRead = names.every((name) => name !== undefined && query.includes(name));
    return method === 'GET' && areRead && new RegExp(`^${template.replaceAll(/:\w+/g, '[^/]+')}$`).test(bare);
  });
}
