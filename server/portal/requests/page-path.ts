import type { PageRoute } from './request-context.ts';

/**
 * Plain paths with percent-encoded parameters: nothing that a browser would interpret as another path, and nothing that could
 * end a header.
 */
const PLAIN_PATH = /^((?:\/[A-Za-z0-9_-]+)+)(?:\?(.+))?$/;
const PLAIN_PARAMETER = /^([A-Za-z_-]+)=(?:[A-Za-z0-9_.~!'()*-]|%[0-9A-Fa-f]{2})*$/;

/** Includes the parameters. */
const MAX_PATH_LENGTH = 2_000;

/** Whether a path is that of a page, with only parameters that the page reads. A sign-in redirects only to such paths. */
export function isPagePath(routes: readonly Pick<PageRoute, 'method' | 'path' | 'query'>[], path: string): boolean {
  const [, bare, parameters] = (path.length <= MAX_PATH_LENGTH && PLAIN_PATH.exec(path)) || [];
  if (bare === undefined) return false;
  const names = parameters?.split('&').map((pair) => PLAIN_PARAMETER.exec(pair)?.[1]) ?? [];
  return routes.some(({ method, path: template, query = [] }) => {
    const areRead = names.every((name) => name !== undefined && query.includes(name));
    return method === 'GET' && areRead && new RegExp(`^${template.replaceAll(/:\w+/g, '[^/]+')}$`).test(bare);
  });
}
