import { describe, expect, test } from 'bun:test';
import { join } from 'node:path';
import { parseRateLimit } from '../../../shared/limits/rate-limit.ts';
import { importProfiles } from '../../../shared/profiles/import/import.ts';
import { createClient } from '../../support/api-client/client/index.ts';
import * as api from '../../support/api-client/index.ts';
import type { components } from '../../support/api-types.ts';
import { PROJECT } from '../../support/cli.ts';
import { get, startTestServer } from '../../support/http.ts';
import { issue } from '../../support/keys.ts';
import { IMPORT_OPTIONS } from '../../support/profiles.ts';

// Typical clients, as test/support/client-types.ts generates them: that of hey-api sends the requests and validates responses
// with valibot, and what it returns fits the types of openapi-typescript; the project's type check checks this file. Errors
// that the types must report are marked by @ts-expect-error.

const server = await startTestServer();
const sample = join(PROJECT, 'shared/sample/profiles.jsonl');
await importProfiles(server.deps, sample, { ...IMPORT_OPTIONS, strict: true });
const grant = { rateLimits: [parseRateLimit('1000/1m')] };
const both = await issue(server.deps, { profile: 'ada', permissions: ['api.lookup', 'api.leaderboard'] }, grant);
const lookupOnly = await issue(server.deps, { profile: 'ada' }, grant);

const clientOf = ({ secret }: { secret: string }, change = (body: string) => body) =>
  createClient({
    baseUrl: `${server.url}/api`,
    fetch: (async (request: Request) => {
      const { url, headers } = request;
      // This helper checks every response against the document.
      const response = await get(server, url.slice(server.url.length), secret, { headers });
      const body = await response.text();
      return new Response(response.status === 304 ? null : change(body), response);
    }) as typeof fetch,
  });
const client = clientOf(both);

type Profile = components['schemas']['SimplifiedProfile'];

describe('a lookup', () => {
  test('by any kind of name returns a typed profile', async () => {
    const { data } = await api.getProfileByUsername({ client, path: { username: 'ADA' } });
    const profile: Profile | undefined = data;
    const followers: number | null | undefined = profile?.followersCount;
    expect([profile?.username, followers, profile?.badges[0]?.enabled]).toEqual(['Ada', 1815, true]);
    // @ts-expect-error: private fields are not in responses
    expect(profile?.email).toBeUndefined();

    const byUid = await api.getProfileByUid({ client, path: { uid: 7 } });
    expect(byUid.data).toEqual(profile as Profile);
    const byAuthId = await api.getProfileByAuthId({ client, path: { authId: 'google-oauth2|1/katherine' } });
    expect(byAuthId.data?.id).toBe(8);
    // @ts-expect-error: a UID is a number
    const wrong = await api.getProfileByUid({ client, path: { uid: 'x' } });
    expect([wrong.response, wrong.error !== undefined]).toEqual([undefined, true]);
  });

  test('of an unknown name is an error with a sentence', async () => {
    const { data, error, response } = await api.getProfileByUsername({
      client,
      path: { username: 'ghost' },
    });
    const sentence: string | undefined = error?.error;
    expect([response?.status, data, sentence]).toEqual([404, undefined, 'There is no such profile.']);
  });

  test('of an unchanged profile has no body', async () => {
    const path = { uid: 7 };
    const first = await api.getProfileByUid({ client, path });
    const etag = first.response?.headers.get('etag') ?? '';
    const again = await api.getProfileByUid({ client, path, headers: { 'If-None-Match': etag } });
    expect([again.response?.status, again.data]).toEqual([304, undefined]);
  });

  test('with a field that the document does not have is still valid, one without a field that it has is not', async () => {
    const path = { uid: 7 };
    const newer = clientOf(both, (body) => body.replace('{', '{"addedLater":"x",'));
    const { data } = await api.getProfileByUid({ client: newer, path });
    expect(data).toMatchObject({ id: 7, addedLater: 'x' });
    const broken = clientOf(both, (body) => body.replace('"username"', '"name"'));
    expect((await api.getProfileByUid({ client: broken, path })).data).toBeUndefined();
  });
});

test('links are in the owner’s order, and optional fields are absent', async () => {
  const { data } = await api.getLinksByUid({ client, path: { uid: 3 } });
  const links: components['schemas']['Link'][] = data?.links ?? [];
  expect(links.map(({ id, linkMode, title }) => [id, linkMode, title])).toEqual([
    ['l1', undefined, 'Łukasz z Łodzi on blog'],
    ['l2', 'icon', undefined],
  ]);
});

test('a lookup of many returns the profiles with their queries, and the missing queries', async () => {
  const query = { username: ['lovelace', 'ghost', 'q&a?'], uid: [12, 4], authid: ['auth0|3c6ef362'] };
  const { data } = await api.getProfiles({ client, query });
  expect(data?.profiles.map(({ query, profile }) => [query, profile.id])).toEqual([
    [{ username: 'lovelace' }, 7],
    [{ username: 'q&a?' }, 30],
    [{ uid: 12 }, 12],
    [{ authid: 'auth0|3c6ef362' }, 2],
  ]);
  expect(data?.missing).toEqual([{ username: 'ghost' }, { uid: 4 }]);
});

test('a page of the leaderboard has typed entries, in order of their ranks', async () => {
  const { data } = await api.getLeaderboard({ client, query: { limit: 2 } });
  const entries: components['schemas']['LeaderboardEntry'][] = data?.leaderboard ?? [];
  const total: number | undefined = data?.total;
  expect([entries.map(({ rank, id }) => [rank, id]), total]).toEqual([
    [
      [1, 7],
      [2, 1000],
    ],
    47,
  ]);
});

test('a request without the permission is a 403, and /api/key lists the permissions', async () => {
  const limited = clientOf(lookupOnly);
  const { response, error } = await api.getLeaderboard({ client: limited });
  expect([response?.status, error]).toEqual([403, { error: 'This API key lacks the permission api.leaderboard.' }]);
  const { data } = await api.getKey({ client: limited });
  const permissions: ('api.lookup' | 'api.leaderboard')[] | undefined = data?.permissions;
  expect(permissions).toEqual(['api.lookup']);
});
