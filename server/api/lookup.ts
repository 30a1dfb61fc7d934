import { Elysia } from 'elysia';
import { tagOf } from '../../shared/profiles/lookup/cache.ts';
import type { Found, Way } from '../../shared/profiles/lookup/lookup.ts';
import { pathParameter, queryParameters } from '../http/parameters.ts';
import { publicPath } from '../http/public-path.ts';
import type { Serving } from '../http/serving.ts';
import { queryOf } from '../http/target.ts';
import { withPermission } from '../http/with-key.ts';

/** What a lookup takes of Elysia's context, whose own `params` are not decoded strictly. */
type Asked = { request: Request; path: string; route: string };

/** `/api/lookup/…`: one SimplifiedProfile, or its links, found by username, UID or auth ID. */
export function lookup(serving: Serving) {
  const profileBy =
    (way: Way) =>
    ({ request, path, route }: Asked) => {
      const found = serving.lookup.profile(way, readName(request, path, route));
      return { body: found.text.body, etag: tagOf(found.text), headers: locationOf(serving, found, '') };
    };
  const linksBy =
    (way: Way) =>
    ({ request, path, route }: Asked) => {
      const found = serving.lookup.links(way, readName(request, path, route));
      return { body: found.text.body, etag: tagOf(found.text), headers: locationOf(serving, found, '/links') };
    };
  return new Elysia({ name: 'lookup' })
    .use(withPermission(serving, 'api.lookup'))
    .all('/api/lookup/username/:username', profileBy('username'))
    .all('/api/lookup/username/:username/links', linksBy('username'))
    .all('/api/lookup/uid/:uid', profileBy('uid'))
    .all('/api/lookup/uid/:uid/links', linksBy('uid'))
    .all('/api/lookup/authid/:authId', profileBy('authId'))
    .all('/api/lookup/authid/:authId/links', linksBy('authId'));
}

function readName(request: Request, path: string, route: string): string {
  const value = pathParameter(route, path);
  queryParameters(queryOf(request), []);
  return value;
}

/** Where the profile was found by an alias, Content-Location names the path of its username (RFC 9110, section 8.7). */
function locationOf({ deps }: Serving, { aliasOf }: Found, suffix: string): Record<string, string> | undefined {
  if (aliasOf === null) return undefined;
  const path = `/api/lookup/username/${encodeURIComponent(aliasOf)}${suffix}`;
  return { 'Content-Location': publicPath(deps.config, path) };
}
