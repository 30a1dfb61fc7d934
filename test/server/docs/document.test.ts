import { describe, expect, test } from 'bun:test';
import { checkAnswer } from '../../support/document.ts';
import { get, startTestServer } from '../../support/http.ts';
import { prepare } from '../../support/keys.ts';
import { KEY_ROUTES } from '../routes.ts';

// The document itself. test/support/client-types.ts validates it, and every other test's requests check that the server sends no
// other responses.

type Document = {
  openapi: string;
  info: { version: string; title: string; contact?: object };
  servers: { url: string }[];
  paths: Record<string, { get: { operationId: string; security: object[]; parameters: { name?: string }[] } }>;
};

const server = await startTestServer();
const secret = await prepare(server.deps);

const documentOf = async (from: { url: string }) => (await (await get(from, '/openapi.json')).json()) as Document;

describe('the document', () => {
  test('is served at /openapi.json, and may be cached', async () => {
    const answer = await get(server, '/openapi.json');
    expect([answer.status, answer.headers.get('content-type')]).toEqual([200, 'application/json']);
    expect(answer.headers.get('cache-control')).toBe('public, max-age=300');
  });

  test('has the server’s own name, URL and contact, and the version of the interface', async () => {
    const PUBLIC_URL = "https://example.org/a&b$&'c";
    for (const [CONTACT, contact] of [
      ['help@example.org', { email: 'help@example.org' }],
      ['https://x.example.org/?a=1&b=2', { url: 'https://x.example.org/?a=1&b=2' }],
    ] as const) {
      const named = await startTestServer({ variables: { PUBLIC_URL, CONTACT, PUBLIC_NAME: 'Linkhive' } });
      const { servers, info, openapi } = await documentOf(named);
      expect([openapi, info.version, info.title, info.contact]).toEqual(['3.1.0', '1.0.0', 'Linkhive', contact]);
      expect(servers.map(({ url }) => url)).toEqual([`${PUBLIC_URL}/api`]);
    }
  });

  test('has the routes of the API alone, with the permission that each needs', async () => {
    const { paths } = await documentOf(server);
    const shown = Object.entries(paths).map(([path, item]) => [path, Object.keys(item), item.get.security]);
    const wanted = KEY_ROUTES.map(({ path, access }) => [
      path.replace('/api', '').replace(/:(\w+)/, '{$1}'),
      ['get'],
      [{ apiKey: access === 'any key' ? [] : [access] }],
    ]);
    expect(shown).toEqual(wanted);
    expect(paths['/lookup/uid/{uid}']?.get.parameters).toContainEqual(
      expect.objectContaining({ name: 'uid', in: 'path', required: true, example: 7 }),
    );
  });

  test('lets later versions add fields and codes, and repeats no format as a pattern', async () => {
    const text = JSON.stringify(await documentOf(server));
    expect(text).not.toContain('"additionalProperties":false');
    expect(text).not.toMatch(/"pattern":"[^"]*","format"|"format":"date-time","pattern"/);
    // Clients that openapi-generator makes from alternatives refuse right answers.
    expect(text).not.toMatch(/"(anyOf|oneOf)"/);
    expect(text).toContain('"type":["number","null"]');
    expect(text).toMatch(
      /"X-Error-Code":\{"description":"[^"]*","required":true,"schema":\{"type":"string","examples":/,
    );
  });
});

test('an undocumented response fails a test, by its status, its headers or its body', async () => {
  const answer = await get(server, '/api/lookup/uid/7', secret);
  const body = await answer.text();
  const good = { method: 'GET', target: '/api/lookup/uid/7', status: 200, headers: answer.headers, body };
  expect(() => checkAnswer(good)).not.toThrow();
  const without = (name: string) => new Headers([...good.headers].filter(([one]) => one !== name));
  const withOther = (header: Record<string, string>) => new Headers({ ...Object.fromEntries(good.headers), ...header });
  const withBody = (other: string) => {
    return { body: other, headers: withOther({ 'content-length': `${Buffer.byteLength(other)}` }) };
  };
  for (const changed of [
    { status: 201 },
    { status: 401 },
    withBody('{"id":7}'),
    withBody(body.replace('{', '{"email":"ada@example.org",')),
    { method: 'HEAD' },
    { status: 304 },
    { headers: without('x-request-id') },
    { headers: without('content-type') },
    { headers: withOther({ 'cache-control': 'public' }) },
    { headers: withOther({ 'content-length': '3' }) },
    { headers: withOther({ 'content-type': 'text/html' }) },
    { headers: withOther({ 'x-powered-by': 'us' }) },
    { target: '/api/nothing' },
  ]) {
    expect(() => checkAnswer({ ...good, ...changed })).toThrow('is not as documented');
  }
});
