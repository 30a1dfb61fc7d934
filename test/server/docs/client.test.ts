import { describe, expect, test } from 'bun:test';
import { join } from 'node:path';
import createClient from 'openapi-fetch';
import { effectsOnKeys } from '../../../shared/erasure/erase-profile.ts';
import { importProfiles } from '../../../shared/profiles/import/import.ts';
import { onBox } from '../../support/actors.ts';
import type { components, paths } from '../../support/api-types.ts';
import { PROJECT } from '../../support/cli.ts';
import { get, startTestServer } from '../../support/http.ts';
import { MAIL_CONFIG } from '../../support/mail/config.ts';
import { giveKeysTo, keyFor } from '../../support/requests.ts';

// A typical client: openapi-typescript generates types from the document (test/support/client-types.ts), openapi-fetch sends the
// requests, and the project's type check checks this file. @ts-expect-error marks errors that the types must report.

const server = await startTestServer();
const both = await keyFor(server.deps, ['1000/1m']);
const lookupOnly = await keyFor(server.deps, ['1000/1m'], ['api.lookup']);
const sample = join(PROJECT, 'shared/sample/profiles.jsonl');
await importProfiles(server.deps, sample, {
  merge: false,
  strict: true,
  by: onBox('test'),
  onKeys: effectsOnKeys(onBox('test'), MAIL_CONFIG),
});
giveKeysTo(server.deps, 7);

const clientOf = ({ secret }: { secret: string }) =>
  createClient<paths>({
    baseUrl: `${server.url}/api`,
    // This helper checks every response against the document.
    fetch: (request) => get(server, request.url.slice(server.url.length), secret, { headers: request.headers }),
  });
const client = clientOf(both);

type Profile = components['schemas']['SimplifiedProfile'];

describe('a lookup', () => {
  test('by any kind of name returns a typed profile', async () => {
    const { data } = await client.GET('/lookup/username/{username}', { params: { path: { username: 'ADA' } } });
    const profile: Profile | undefined = data;
    const followers: number | null | undefined = profile?.followersCount;
    expect([profile?.username, followers, profile?.badges[0]?.enabled]).toEqual(['Ada', 1815, true]);
    // @ts-expect-error: private fields are not in responses
    expect(profile?.email).toBeUndefined();

    const byUid = await client.GET('/lookup/uid/{uid}', { params: { path: { uid: 7 } } });
    expect(byUid.data).toEqual(profile as Profile);
    const byAuthId = await client.GET('/lookup/authid/{authId}', {
      params: { path: { authId: 'google-oauth2|1/katherine' } },
    });
    expect(byAuthId.data?.id).toBe(8);
    // @ts-expect-error: a UID is a number
    const wrong = await client.GET('/lookup/uid/{uid}', { params: { path: { uid: 'x' } } });
    expect(wrong.error?.error).toContain('uid');
  });

  test('of an unknown name is an error with a sentence', async () => {
    const { data, error, response } = await client.GET('/lookup/username/{username}', {
      params: { path: { username: 'ghost' } },
    });
    const sentence: string | undefined = error?.error;
    expect([response.status, data, sentence]).toEqual([404, undefined, 'There is no such profile.']);
  });

  test('of an unchanged profile has no body', async () => {
    const path = { uid: 7 };
    const first = await client.GET('/lookup/uid/{uid}', { params: { path } });
    const etag = first.response.headers.get('etag') ?? '';
    const again = await client.GET('/lookup/uid/{uid}', { params: { path, header: { 'If-None-Match': etag } } });
    expect([again.response.status, again.data]).toEqual([304, undefined]);
  });
});

test('links are in the owner’s order, and optional fields are absent', async () => {
  const { data } = await client.GET('/lookup/uid/{uid}/links', { params: { path: { uid: 3 } } });
  const links: components['schemas']['Link'][] = data?.links ?? [];
  expect(links.map(({ id, linkMode, title }) => [id, linkMode, title])).toEqual([
    ['l1', undefined, 'Łukasz z Łodzi on blog'],
    ['l2', 'icon', undefined],
  ]);
});

test('a lookup of many returns the profiles with their queries, and the missing queries', async () => {
  const query = { username: ['lovelace', 'ghost', 'q&a?'], uid: [12, 4], authid: ['auth0|3c6ef362'] };
  const { data } = await client.GET('/lookup', { params: { query } });
  expect(data?.profiles.map(({ query, profile }) => [query, profile.id])).toEqual([
    [{ username: 'lovelace' }, 7],
    [{ username: 'q&a?' }, 30],
    [{ uid: 12 }, 12],
    [{ authid: 'auth0|3c6ef362' }, 2],
  ]);
  expect(data?.missing).toEqual([{ username: 'ghost' }, { uid: 4 }]);
});

test('a page of the leaderboard has typed entries, in order of their ranks', async () => {
  const { data } = await client.GET('/leaderboard', { params: { query: { limit: 2 } } });
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
  const { response, error } = await limited.GET('/leaderboard');
  expect([response.status, error]).toEqual([403, { error: 'This API key lacks the permission api.leaderboard.' }]);
  const { data } = await limited.GET('/key');
  const permissions: ('api.lookup' | 'api.leaderboard')[] | undefined = data?.permissions;
  expect(permissions).toEqual(['api.lookup']);
});
