import { expect, test } from 'bun:test';
import createClient from 'openapi-fetch';
import type { Signed } from '../../../shared/sessions-file/whose.ts';
import { ownerToSign } from '../../../shared/sign-ins/binding.ts';
import { importLines } from '../../support/import.ts';
import { DESCRIPTION, request } from '../../support/keys.ts';
import type { paths } from '../../support/manage-types.ts';
import { enrol, signIn } from '../../support/portal/admins.ts';
import { checkCall, personTokenFor } from '../../support/portal/manage.ts';
import { pageWorld, serverOfPages } from '../../support/portal/pages.ts';

// Keys under /manage/v1 with a client generated from the OpenAPI document.

const world = pageWorld({ PUBLIC_URL: 'http://localhost:3000' });
const { access } = world;
const server = await serverOfPages(world);
const FIELDS = { name: 'Bot', description: DESCRIPTION, permissions: ['api.lookup' as const] };

let profiles = 0;

/** A token of the owner of a new profile. */
async function newOwner(): Promise<string> {
  const id = ++profiles;
  await importLines(access, [{ id, username: `owner${id}`, email: `owner${id}@example.org` }]);
  return personTokenFor(access, ownerToSign(access, id) as Signed);
}

/** The responses when a key is requested, renamed, found in the list, and shown after it was withdrawn. */
const LIFE = [
  { state: 'pending', name: 'Bot' },
  { state: 'pending', name: 'Other' },
  { keys: [{ name: 'Other' }] },
  { state: 'withdrawn', history: expect.any(Array) },
];

const clientOf = (token: string) =>
  createClient<paths>({
    baseUrl: server.url,
    headers: { Authorization: `Bearer ${token}` },
    fetch: async (request) => checkCall(request.method, new URL(request.url).pathname, await fetch(request)),
  });

test('a typed client generated from the OpenAPI document requests, renames, lists and withdraws an owner’s key', async () => {
  const client = clientOf(await newOwner());
  const { data: key } = await client.POST('/manage/v1/keys', { body: FIELDS });
  const path = { identifier: key?.identifier ?? '' };
  const { data: renamed } = await client.PATCH('/manage/v1/keys/{identifier}', {
    params: { path },
    body: { name: 'Other' },
  });
  const { data: list } = await client.GET('/manage/v1/keys', { params: { query: { state: ['pending'] } } });
  await client.POST('/manage/v1/keys/{identifier}/withdraw', { params: { path } });
  const { data: shown } = await client.GET('/manage/v1/keys/{identifier}', { params: { path } });
  expect([key, renamed, list, shown]).toMatchObject(LIFE);
  const permissions: ('api.lookup' | 'api.leaderboard')[] | undefined = shown?.requestedPermissions;
  expect(permissions).toEqual(['api.lookup']);
});

test('the types of a generated client include the URL of the page for an admin’s decision', async () => {
  const client = clientOf(personTokenFor(access, (await signIn(access, await enrol(access, 'Grace'))).signed));
  await newOwner();
  const identifier = await request(access, { profile: `owner${profiles}` });
  const { error, response } = await client.POST('/manage/v1/keys/{identifier}/approve', {
    params: { path: { identifier } },
  });
  expect([response.status, response.headers.get('x-error-code')]).toEqual([403, 'decision_needed']);
  const address: string | undefined = error !== undefined && 'address' in error ? error.address : undefined;
  expect(address).toMatch(/^http:\/\/localhost:3000\/developers\/admin\/keys\/\w{8}$/);
});
