import { Elysia } from 'elysia';
import { AppError } from '../../shared/errors.ts';
import { type Found, type LookupBy, type LookupOf, tagOf } from '../../shared/profiles/lookup.ts';
import { AUTH_ID_MAX_BYTES, NAME_MAX_CODE_POINTS } from '../../shared/profiles/name.ts';
import { operation } from '../docs/operation.ts';
import type { Answer } from '../http/answers.ts';
import { pathParameter, queryOf, refuseParameters } from '../http/parameters.ts';
import { publicPath } from '../http/public-path.ts';
import { withPermission } from '../http/with-key.ts';
import type { Service } from '../service.ts';

/** The part of Elysia's context that lookups use; its own `params` are not decoded strictly. */
type LookupContext = { request: Request; path: string; route: string };

/** `/api/lookup/…`: one SimplifiedProfile, or its links, found by username, UID or auth ID. */
export function lookup(service: Service) {
  return new Elysia({ name: 'lookup' })
    .use(withPermission(service, 'api.lookup'))
    .get('/api/lookup/username/:username', handler(service, 'profile', 'username'), detail('profile', 'username'))
    .get('/api/lookup/username/:username/links', handler(service, 'links', 'username'), detail('links', 'username'))
    .get('/api/lookup/uid/:uid', handler(service, 'profile', 'uid'), detail('profile', 'uid'))
    .get('/api/lookup/uid/:uid/links', handler(service, 'links', 'uid'), detail('links', 'uid'))
    .get('/api/lookup/authid/:authId', handler(service, 'profile', 'authId'), detail('profile', 'authId'))
    .get('/api/lookup/authid/:authId/links', handler(service, 'links', 'authId'), detail('links', 'authId'));
}

/** The JSON Schema of a UID. */
export const UID = { type: 'integer', minimum: 1, maximum: Number.MAX_SAFE_INTEGER };

const WAYS = {
  username: {
    words: 'username or alias',
    id: 'Username',
    description:
      'The username or an alias, compared in folded form (Unicode NFKC, lower case). A name that cannot exist gets a 404.',
    schema: { type: 'string', minLength: 1, maxLength: NAME_MAX_CODE_POINTS },
    example: 'Ada',
  },
  uid: {
    words: 'UID',
    id: 'Uid',
    description: 'The id of the profile: a decimal number without leading zeros. Anything else gets a 400.',
    schema: UID,
    example: 7,
  },
  authId: {
    words: 'auth ID',
    id: 'AuthId',
    description: 'The auth ID: 1 to 255 bytes, matched exactly. An auth ID that cannot exist gets a 404.',
    schema: { type: 'string', minLength: 1, maxLength: AUTH_ID_MAX_BYTES },
    example: 'auth0|ada',
  },
};

function detail(what: LookupOf, way: LookupBy) {
  const { words, id, ...parameter } = WAYS[way];
  const isProfile = what === 'profile';
  return operation({
    id: `get${isProfile ? 'Profile' : 'Links'}By${id}`,
    tag: 'Lookup',
    summary: isProfile ? `Look up a profile by ${words}` : `List a profile’s links by ${words}`,
    description: isProfile ? `The public profile with this ${words}.` : 'Its public links, in the owner’s order.',
    permission: 'api.lookup',
    parameters: [{ name: way, in: 'path', ...parameter }],
    body: isProfile ? 'SimplifiedProfile' : 'Links',
    headers: way === 'username' ? ['Content-Location'] : [],
  });
}

function handler(service: Service, what: LookupOf, way: LookupBy) {
  const suffix = what === 'links' ? '/links' : '';
  return ({ request, path, route }: LookupContext): Answer => {
    const found = service.lookup.one(what, way, readName(request, path, route));
    if (found === null) throw NOT_FOUND;
    return { body: found.body, etag: tagOf(found), headers: locationOf(service, found, suffix) };
  };
}

// Created once, because a stack trace takes as long as a lookup.
const NOT_FOUND = new AppError('not_found');

function readName(request: Request, path: string, route: string): string {
  const value = pathParameter(route, path);
  refuseParameters(queryOf(request));
  return value;
}

/** For a profile found by an alias: Content-Location with the path of its username (RFC 9110, section 8.7). */
function locationOf({ deps }: Service, { aliasOf }: Found, suffix: string): Record<string, string> | undefined {
  if (aliasOf === null) return undefined;
  const path = `/api/lookup/username/${encodeURIComponent(aliasOf)}${suffix}`;
  return { 'Content-Location': publicPath(deps.config, path) };
}
