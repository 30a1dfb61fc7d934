import { expect, test } from 'bun:test';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import createClient from 'openapi-fetch';
import type { Signed } from '../../../shared/sessions-file/whose.ts';
import { ownerToSign } from '../../../shared/sign-ins/binding.ts';
import { cleanEnvironment } from '../../support/cli.ts';
import { importLines } from '../../support/import.ts';
import { DESCRIPTION, request } from '../../support/keys.ts';
import type { paths } from '../../support/manage-types.ts';
import { enrol, signIn } from '../../support/portal/admins.ts';
import { checkCall, personTokenFor } from '../../support/portal/manage.ts';
import { pageWorld, serverOfPages } from '../../support/portal/pages.ts';

// Keys under /manage/v1 with curl, Python's standard library, and a client generated from the OpenAPI document.

const world = pageWorld({ PUBLIC_URL: 'http://localhost:3000' });
const { access } = world;
const server = await serverOfPages(world);
const KEYS = `${server.url}/manage/v1/keys`;
const FIELDS = { name: 'Bot', description: DESCRIPTION, permissions: ['api.lookup' as const] };

let profiles = 0;

/** A token of the owner of a new profile. */
async function newOwner(): Promise<string> {
  const id = ++profiles;
  await importLines(access, [{ id, username: `owner${id}`, email: `owner${id}@example.org` }]);
  return personTokenFor(access, ownerToSign(access, id) as Signed);
}

/** Runs a program with the token in its environment; returns the JSON values that it printed, one per line. */
async function printedBy(words: string[], token: string): Promise<unknown[]> {
  const env = cleanEnvironment({ NO_PROXY: '*', TOKEN: token });
  const child = Bun.spawn(words, { env, stdin: 'ignore', stdout: 'pipe', stderr: 'pipe' });
  const [stdout, stderr] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()]);
  expect([await child.exited, stderr]).toEqual([0, '']);
  return stdout
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));
}

/** The responses when a key is requested, renamed, found in the list, and shown after it was withdrawn. */
const LIFE = [
  { state: 'pending', name: 'Bot' },
  { state: 'pending', name: 'Other' },
  { keys: [{ name: 'Other' }] },
  { state: 'withdrawn', history: expect.any(Array) },
];

test.skipIf(Bun.which('curl') === null)('curl requests, renames, lists and withdraws an owner’s key', async () => {
  const script = `set -e
    HEADER=$(mktemp); trap 'rm -f "$HEADER"' EXIT
    printf 'Authorization: Bearer %s\\n' "$TOKEN" >"$HEADER"
    ask() { curl -sS --fail-with-body -H @"$HEADER" -H 'Content-Type: application/json' "$@"; echo; }
    key=$(ask ${KEYS} -d '${JSON.stringify(FIELDS)}')
    echo "$key"
    id=$(echo "$key" | sed 's/.*"identifier":"\\([^"]*\\)".*/\\1/')
    ask -X PATCH ${KEYS}/$id -d '{"name":"Other"}'
    ask -G ${KEYS} -d state=pending
    ask -X POST ${KEYS}/$id/withdraw >/dev/null
    ask ${KEYS}/$id`;
  expect(await printedBy(['sh', '-c', script], await newOwner())).toMatchObject(LIFE);
});

test.skipIf(Bun.which('python3') === null)(
  'Python’s standard library requests, renames, lists and withdraws an owner’s key',
  async () => {
    const file = join(access.folder, 'keys.py');
    writeFileSync(
      file,
      `import json, os, urllib.request

def ask(method, path="", body=None):
    headers = {"Authorization": "Bearer " + os.environ["TOKEN"], "Content-Type": "application/json"}
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request("${KEYS}" + path, data=data, headers=headers, method=method)
    with urllib.request.urlopen(request, timeout=20) as answer:
        return json.load(answer)

key = ask("POST", body=${JSON.stringify(FIELDS)})
path = "/" + key["identifier"]
for value in key, ask("PATCH", path, {"name": "Other"}), ask("GET", "?state=pending"):
    print(json.dumps(value))
ask("POST", path + "/withdraw")
print(json.dumps(ask("GET", path)))
`,
    );
    expect(await printedBy(['python3', file], await newOwner())).toMatchObject(LIFE);
  },
);

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
