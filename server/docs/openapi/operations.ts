import type { z } from 'zod';
import type { OperationDoc } from './operation-doc.ts';
import { AUTH_ID_IN_PATH, IF_NONE_MATCH, MANY, PAGE, UID_IN_PATH, USERNAME_IN_PATH } from './parameters.ts';
import { SERVER_OPERATIONS } from './server-operations.ts';

/** Lookups by one parameter of the path. */
const by = (path: z.ZodObject) =>
  ({
    access: 'api.lookup',
    tag: 'Lookup',
    parameters: { path, header: IF_NONE_MATCH },
    refusals: ['uri_too_long'],
  }) as const;
const byUsername = { ...by(USERNAME_IN_PATH), headers: ['Content-Location'] } as const;
const [byUid, byAuthId] = [by(UID_IN_PATH), by(AUTH_ID_IN_PATH)];

/** The documentation of each route, by its path, except `/`, which only redirects to `/docs`. */
export const API_OPERATIONS: Record<string, OperationDoc> = {
  '/api/lookup/username/:username': {
    ...byUsername,
    operationId: 'getProfileByUsername',
    summary: 'Look up a profile by username or alias',
    description:
      'The public profile with this username or alias. If it is an alias, `Content-Location` has the path of the primary username.',
    body: 'SimplifiedProfile',
    examples: {
      username: { summary: 'By username', target: '/api/lookup/username/Ada' },
      alias: { summary: 'By alias; the followers count is hidden', target: '/api/lookup/username/shy' },
    },
    refused: { bad_parameter: '/api/lookup/username/100%', not_found: '/api/lookup/username/ghost' },
  },
  '/api/lookup/username/:username/links': {
    ...byUsername,
    operationId: 'getLinksByUsername',
    summary: 'List a profile’s links by username or alias',
    description: 'The public links of the profile with this username or alias, in the owner’s order.',
    body: 'Links',
    examples: {
      links: { summary: 'Some links', target: '/api/lookup/username/Ada/links' },
      none: { summary: 'A profile without links', target: '/api/lookup/username/grace/links' },
    },
    refused: { bad_parameter: '/api/lookup/username/100%/links', not_found: '/api/lookup/username/ghost/links' },
  },
  '/api/lookup/uid/:uid': {
    ...byUid,
    operationId: 'getProfileByUid',
    summary: 'Look up a profile by UID',
    description: 'The public profile with this id.',
    body: 'SimplifiedProfile',
    examples: { profile: { summary: 'A profile', target: '/api/lookup/uid/7' } },
    refused: { bad_parameter: '/api/lookup/uid/007', not_found: '/api/lookup/uid/9999' },
  },
  '/api/lookup/uid/:uid/links': {
    ...byUid,
    operationId: 'getLinksByUid',
    summary: 'List a profile’s links by UID',
    description: 'The public links of the profile with this id, in the owner’s order.',
    body: 'Links',
    examples: { links: { summary: 'Some links', target: '/api/lookup/uid/7/links' } },
    refused: { bad_parameter: '/api/lookup/uid/007/links', not_found: '/api/lookup/uid/9999/links' },
  },
  '/api/lookup/authid/:authId': {
    ...byAuthId,
    operationId: 'getProfileByAuthId',
    summary: 'Look up a profile by auth ID',
    description:
      'The public profile whose owner signs in with this auth ID. Auth IDs are private: a response contains one only if the request did.',
    body: 'SimplifiedProfile',
    examples: { profile: { summary: 'A profile', target: '/api/lookup/authid/auth0%7Cada' } },
    refused: { bad_parameter: '/api/lookup/authid/%E0', not_found: '/api/lookup/authid/auth0%7Cghost' },
  },
  '/api/lookup/authid/:authId/links': {
    ...byAuthId,
    operationId: 'getLinksByAuthId',
    summary: 'List a profile’s links by auth ID',
    description: 'The public links of the profile whose owner signs in with this auth ID, in the owner’s order.',
    body: 'Links',
    examples: { links: { summary: 'Some links', target: '/api/lookup/authid/auth0%7Cada/links' } },
    refused: { bad_parameter: '/api/lookup/authid/%E0/links', not_found: '/api/lookup/authid/auth0%7Cghost/links' },
  },
  '/api/lookup': {
    access: 'api.lookup',
    tag: 'Lookup',
    operationId: 'getProfiles',
    summary: 'Look up many profiles at once',
    description:
      'Up to 100 profiles in one request, by any mix of usernames, aliases, UIDs and auth IDs. `profiles` has the profiles that were found, `missing` the queries without a profile, both in the order of the request; a repeated query is answered once. The request costs as many requests as it has distinct queries, all or nothing, or one if it is refused for a reason other than the rate limits. If the limits have no room for it now, wait for `Retry-After` seconds. If a limit could never admit that many at once, or the response would exceed 1 MiB (which costs the full price), the request gets a 400: look the profiles up in several requests.',
    parameters: { query: MANY, header: IF_NONE_MATCH },
    body: 'FoundProfiles',
    mayBeBig: true,
    examples: {
      mixed: {
        summary: 'Three queries, one of which finds no profile',
        target: '/api/lookup?username=lovelace&username=ghost&uid=12',
      },
    },
    refused: { bad_parameter: '/api/lookup?username=Ada&uid=x' },
  },
  '/api/leaderboard': {
    access: 'api.leaderboard',
    tag: 'Leaderboard',
    operationId: 'getLeaderboard',
    summary: 'Read a page of the leaderboard',
    description:
      'The top 10 000 profiles by views, then by UID, without banned profiles and those that don’t want to be listed. A page has at least one entry, and may have fewer than `limit`, because it ends before 1 MiB. `Link` has the URLs of the previous page and of the next page, which begins after the last entry. Pages beyond the end are empty.',
    parameters: { query: PAGE, header: IF_NONE_MATCH },
    body: 'LeaderboardPage',
    mayBeBig: true,
    examples: {
      first: { summary: 'The first three', target: '/api/leaderboard?limit=3' },
      beyond: { summary: 'Beyond the end', target: '/api/leaderboard?limit=10&offset=9000' },
    },
    refused: { bad_parameter: '/api/leaderboard?limit=101' },
    headers: ['Link'],
  },
  '/api/key': {
    access: 'any key',
    isFree: true,
    tag: 'Key',
    operationId: 'getKey',
    summary: 'Look up the key',
    description: 'The permissions of the request’s key, and what is left of its rate limits. Costs nothing.',
    parameters: { header: IF_NONE_MATCH },
    body: 'OwnKey',
    examples: { key: { summary: 'A key that was used once', target: '/api/key' } },
    refused: { bad_parameter: '/api/key?limit=1' },
  },
  ...SERVER_OPERATIONS,
};
