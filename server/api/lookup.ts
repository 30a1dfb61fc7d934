import { Elysia } from 'elysia';
import { AppError } from '../../shared/errors.ts';
import { tagOf } from '../../shared/profiles/lookup/cache.ts';
import type { Found, LookupBy } from '../../shared/profiles/lookup/lookup.ts';
import type { Answer, Refusal } from '../http/answers.ts';
import { pathParameter, queryOf, refuseParameters } from '../http/parameters.ts';
import { publicPath } from '../http/public-path.ts';
import type { Serving } from '../http/serving.ts';
import { withPermission } from '../http/with-key.ts';

/** The part of Elysia's context that lookups use; its own `params` are not decoded strictly. */
type LookupContext = { request: Request; path: string; route: string };

/** `/api/lookup/…`: one SimplifiedProfile, or its links, found by username, UID or auth ID. */
export function lookup(serving: Serving) {
  return new Elysia({ name: 'lookup' })
    .use(withPermission(serving, 'api.lookup'))
    .all('/api/lookup/username/:username', handler(serving, 'profile', 'username'))
    .all('/api/lookup/username/:username/links', handler(serving, 'links', 'username'))
    .all('/api/lookup/uid/:uid', handler(serving, 'profile', 'uid'))
    .all('/api/lookup/uid/:uid/links', handler(serving, 'links', 'uid'))
    .all('/api/lookup/authid/:authId', handler(serving, 'profile', 'authId'))
    .all('/api/lookup/authid/:authId/links', handler(serving, 'links', 'authId'));
}

function handler(serving: Serving, what: 'profile' | 'links', way: LookupBy) {
  const suffix = what === 'links' ? '/links' : '';
  return ({ request, path, route }: LookupContext): Answer | Refusal => {
    const found = serving.lookup[what](way, readName(request, path, route));
    if (found === null) return NOT_FOUND;
    return { body: found.text.body, etag: tagOf(found.text), headers: locationOf(serving, found, suffix) };
  };
}

const NOT_FOUND: Refusal = { thrown: new AppError('not_found') };

function readName(request: Request, path: string, route: string): string {
  const value = pathParameter(route, path);
  refuseParameters(queryOf(request));
  return value;
}

/** For a profile found by an alias: Content-Location with the path of its username (RFC 9110, section 8.7). */
function locationOf({ deps }: Serving, { aliasOf }: Found, suffix: string): Record<string, string> | undefined {
  if (aliasOf === null) return undefined;
  const path = `/api/lookup/username/${encodeURIComponent(aliasOf)}${suffix}`;
  return { 'Content-Location': publicPath(deps.config, path) };
}
