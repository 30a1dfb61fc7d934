import { describe, expect, test } from 'bun:test';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import createClient from 'openapi-fetch';
import { cleanEnvironment, type Finished, PROJECT } from '../../support/cli.ts';
import { exportText, importLines, jsonLines } from '../../support/import.ts';
import type { paths } from '../../support/manage-types.ts';
import { checkCall, feedCommandFor, tokenFor } from '../../support/portal/manage.ts';
import { pageWorld, serverOfPages } from '../../support/portal/pages.ts';

// Calls to /manage/v1 with curl, as shown in docs/manage.md, with Python's standard library, and with a client generated from
// the OpenAPI document.

const world = pageWorld();
const { folder } = world.access;
await importLines(world.access, [{ id: 7, username: 'ada', email: 'ada@example.org', authId: 'auth0|ada' }]);
const server = await serverOfPages(world, { feedCommand: feedCommandFor(world.access) });
const token = tokenFor(world.access);

const DOCUMENT = readFileSync(join(PROJECT, 'docs/manage.md'), 'utf8');

/** The shell command of docs/manage.md that requests this path, with the URL of the test's server. */
function command(path: string): string {
  const blocks = [...DOCUMENT.matchAll(/^```sh\n([\s\S]*?)^```/gm)];
  const code = blocks.map(([, text = '']) => text).find((text) => text.includes(path));
  if (code === undefined) throw new Error(`docs/manage.md has no command for ${path}.`);
  return code.replaceAll('https://api.example.org', server.url);
}

/** Runs a program with the token in its environment. */
async function run(words: string[], variables: Record<string, string> = {}): Promise<Finished> {
  const env = cleanEnvironment({ NO_PROXY: '*', TOKEN: token, ...variables });
  const child = Bun.spawn(words, { cwd: folder, env, stdin: 'ignore', stdout: 'pipe', stderr: 'pipe' });
  const [stdout, stderr] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()]);
  return { code: await child.exited, stdout, stderr };
}

const displayName = async () => {
  const lines = (await exportText(world.access)).split('\n').filter(Boolean);
  return lines.map((line) => JSON.parse(line)).find(({ id }) => id === 7).displayName as string;
};

/** Expects that the URL of a hand-over shows the page on which ada continues. */
async function expectPage(address: string): Promise<void> {
  const { pathname, search } = new URL(address);
  expect(await (await fetch(server.url + pathname + search)).text()).toContain('Continue as ada');
}

describe.skipIf(Bun.which('curl') === null)('curl', () => {
  /** Runs a shell command, and removes the file with the header. */
  const shell = (line: string) => {
    const withHeader = line.replace('@/etc/backend/authorization', '@"$HEADER"');
    const script = `HEADER=$(mktemp); trap 'rm -f "$HEADER"' EXIT
      printf 'Authorization: Bearer %s\\n' "$TOKEN" >"$HEADER"; ${withHeader}`;
    return run(['sh', '-c', script]);
  };

  test('sends a change at once, as the document shows it', async () => {
    const { code, stdout, stderr } = await shell(command('/manage/v1/profiles'));
    expect({ code, stderr, answer: JSON.parse(stdout) }).toEqual({
      ...{ code: 0, stderr: '' },
      answer: {
        imported: 1,
        deleted: 0,
        notThere: 0,
        unaddressed: 0,
        newer: 0,
        newerIds: [],
        refused: [],
        dropped: {},
      },
    });
    expect(await displayName()).toBe('Ada L');
  });

  test('creates a URL for a user, as the document shows it', async () => {
    const { code, stdout } = await shell(command('/manage/v1/sign-ins'));
    expect(code).toBe(0);
    await expectPage(JSON.parse(stdout).address);
  });

  test('reads the rights of the token, and a refusal with its sentence and exit code', async () => {
    const me = await shell(`curl -sS ${server.url}/manage/v1/me -H @/etc/backend/authorization`);
    expect(JSON.parse(me.stdout)).toMatchObject({ kind: 'platform', name: 'backend' });
    const refused = await shell(
      `curl -sS --fail-with-body ${server.url}/manage/v1/profiles -H @/etc/backend/authorization \
        -H 'Content-Type: application/jsonl' --data-binary '{"id":8}'`,
    );
    expect(refused.code).toBe(22);
    expect(JSON.parse(refused.stdout)).toMatchObject({ refused: [{ line: 1, id: 8, field: 'username' }] });
  });
});

describe.skipIf(Bun.which('python3') === null)('Python’s standard library', () => {
  test('creates a URL for a user, reads the rights of the token, sends lines, and reads a refusal', async () => {
    const file = join(folder, 'client.py');
    const text = `
import json, os, urllib.error, urllib.request

def ask(path, body=None, type="application/jsonl"):
    headers = {"Authorization": f"Bearer {os.environ['TOKEN']}", "Content-Type": type}
    request = urllib.request.Request("${server.url}/manage/v1" + path, data=body, headers=headers)
    try:
        with urllib.request.urlopen(request, timeout=20) as answer:
            return [answer.status, json.load(answer)]
    except urllib.error.HTTPError as refusal:
        return [refusal.code, json.load(refusal)]

print(json.dumps([
    ask("/sign-ins", b'{"uid":7}', "application/json"),
    ask("/me"),
    ask("/profiles?mode=merge", '{"id":7,"displayName":"Ada Ł"}\\n'.encode()),
    ask("/profiles?partial=1", b'{"id":8}\\n'),
]))
`;
    writeFileSync(file, text);
    const { code, stdout, stderr } = await run(['python3', file]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    const [[, { address }], ...others] = JSON.parse(stdout);
    await expectPage(address);
    expect(others).toMatchObject([
      [200, { kind: 'platform', rights: ['profiles', 'sign-ins'] }],
      [200, { imported: 1, refused: [] }],
      [422, { error: 'The line was refused; nothing was changed.', refused: [{ line: 1, id: 8 }] }],
    ]);
    expect(await displayName()).toBe('Ada Ł');
  });
});

describe('a client generated from the OpenAPI document by openapi-typescript', () => {
  const client = createClient<paths>({
    baseUrl: server.url,
    headers: { Authorization: `Bearer ${token}` },
    fetch: async (request) => checkCall(request.method, new URL(request.url).pathname, await fetch(request)),
  });

  test('reads the rights of the token, with types', async () => {
    const { data } = await client.GET('/manage/v1/me');
    expect(data).toMatchObject({ kind: 'platform', name: 'backend' });
    // @ts-expect-error: there is no such path
    expect((await client.GET('/manage/v1/mine')).response.status).toBe(404);
  });

  test('sends lines, and reads the counts or the refused lines', async () => {
    const send = (query: { mode?: 'replace' | 'merge'; partial?: '1' }, ...lines: object[]) =>
      client.POST('/manage/v1/profiles', {
        params: { query },
        headers: { 'Content-Type': 'application/jsonl' },
        body: jsonLines(...lines),
        bodySerializer: (text) => text,
      });
    const { data } = await send({ mode: 'merge' }, { id: 7, displayName: 'Countess' });
    const imported: number | undefined = data?.imported;
    expect([imported, await displayName()]).toEqual([1, 'Countess']);
    const { error, response } = await send({ mode: 'merge', partial: '1' }, { id: 8 }, { id: 7, viewsCount: 8 });
    expect([response.status, error]).toMatchObject([422, { imported: 1, refused: [{ line: 1, field: 'username' }] }]);
    // @ts-expect-error: there is no such mode
    expect((await send({ mode: 'other' }, { id: 7 })).response.status).toBe(400);
  });

  test('hands a user over, and reads a refusal', async () => {
    const { data } = await client.POST('/manage/v1/sign-ins', { body: { authId: 'auth0|ada' } });
    await expectPage(data?.address ?? '');
    const { error, response } = await client.POST('/manage/v1/sign-ins', { body: { uid: 9 } });
    const sentence: string | undefined = error?.error;
    expect([response.status, sentence]).toEqual([404, 'There is no such profile.']);
  });
});
