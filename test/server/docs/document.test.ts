import { describe, expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createConfig, lintFromString } from '@redocly/openapi-core';
import { toTemplate } from '../../../server/docs/openapi/builder.ts';
import { documentText } from '../../../server/docs/openapi/document.ts';
import { API_OPERATIONS } from '../../../server/docs/openapi/operations.ts';
import { readOperations } from '../../../server/docs/openapi/read.ts';
import type { OpenApi } from '../../../server/docs/openapi/types.ts';
import { servedDocument } from '../../../server/docs/served.ts';
import { PROJECT } from '../../support/cli.ts';
import { get } from '../../support/http.ts';
import { startSampleServer } from '../../support/machine/sample-server.ts';
import { checkAnswer, documentedAnswer } from '../../support/network/document.ts';
import { ROUTES } from '../../support/requests.ts';
import { drawQuarter, seededRandom } from '../../support/rounds.ts';

// The document itself is valid, has every route, and its examples are responses about the sample profiles.
// document-answers.test.ts checks that the server sends each documented response; every other test's requests, that it sends
// no other.

const { server, keys, document } = await startSampleServer();

const at = (publicUrl: string) => ({ publicUrl, publicName: 'Linkhive', contact: null });

describe('the document', () => {
  test('is served at /openapi.json, and may be cached', async () => {
    const answer = await get(server, '/openapi.json');
    expect([answer.status, answer.headers.get('cache-control')]).toEqual([200, 'public, max-age=300']);
    expect((await answer.json()) as OpenApi).toEqual(JSON.parse(JSON.stringify(document)));
  });

  const publicUrls = ['http://127.0.0.1:3000', 'https://example.org/profiles', 'https://api.example.net'];
  for (const publicUrl of drawQuarter(publicUrls, seededRandom('public URL of a document'))) {
    test(`of ${publicUrl} is valid by Redocly’s recommended rules, without a warning`, async () => {
      const source = JSON.stringify(servedDocument(at(publicUrl)));
      const config = await createConfig({ extends: ['recommended'] });
      const problems = await lintFromString({ source, config, absoluteRef: join(PROJECT, 'openapi.json') });
      expect(problems.map(({ ruleId, message, location }) => [ruleId, message, location[0]?.pointer])).toEqual([]);
    });
  }

  test('is committed as `bun run openapi` writes it', async () => {
    const committed = readFileSync(join(PROJECT, 'server/docs/openapi.json'), 'utf8');
    const isSame = committed === (await documentText());
    expect(isSame ? 'up to date' : 'out of date: bun run openapi').toBe('up to date');
  });

  test('has the server’s own name and URL, whatever characters that has, and the version of the interface', () => {
    for (const publicUrl of ['https://example.org/profiles', "https://example.org/a&b$&'c"]) {
      const { servers, info, openapi } = servedDocument(at(publicUrl));
      expect([openapi, info.version, info.title]).toEqual(['3.1.0', '1.0.0', 'Linkhive']);
      expect(servers[0]?.url).toBe(`${publicUrl}/api`);
      expect(JSON.stringify(servedDocument(at(publicUrl)))).not.toContain('127.0.0.1');
    }
  });

  test('has every route except /, with the permission that it needs', () => {
    const shown = readOperations(document).map(({ path, operation }) => [
      path,
      operation.security,
      operation['x-permission'],
    ]);
    const wanted = ROUTES.filter(({ path }) => path !== '/').map(({ path, access }) => {
      if (path === '/metrics') return [path, [{ metricsToken: [] }], undefined];
      if (access === 'anyone') return [toTemplate(path), [], undefined];
      const permissions = access === 'any key' ? [] : [access];
      return [toTemplate(path), [{ apiKey: permissions }], permissions[0]];
    });
    expect(shown).toEqual(wanted);
    expect(Object.keys(API_OPERATIONS).sort()).toEqual(
      ROUTES.map(({ path }) => path)
        .filter((path) => path !== '/')
        .sort(),
    );
  });
});

describe('an undocumented response fails a test', () => {
  const headers = async () => (await get(server, '/healthz')).headers;
  const received = { method: 'GET', target: '/healthz', status: 200, body: '{"status":"ok"}' };

  test('by its status, its headers or its body', async () => {
    const good = { ...received, headers: await headers() };
    expect(() => checkAnswer(server.url, good)).not.toThrow();
    const without = new Headers(good.headers);
    without.delete('x-request-id');
    const other = new Headers({ ...Object.fromEntries(good.headers), 'cache-control': 'public' });
    const more = new Headers({ ...Object.fromEntries(good.headers), 'x-powered-by': 'us' });
    for (const changed of [
      { status: 201 },
      { status: 401 },
      { body: '{"status":"no"}' },
      { body: '{"status":"ok","up":1}' },
      { headers: without },
      { headers: other },
      { headers: more },
      { target: '/nothing' },
    ]) {
      expect(() => checkAnswer(server.url, { ...good, ...changed })).toThrow('is not as documented');
    }
  });
});

describe('the success examples are the responses of a server with the sample profiles', () => {
  for (const { path, operation } of readOperations(document)) {
    const found = documentedAnswer(document, { method: 'GET', target: path.replace(/\{\w+\}/, 'x'), status: 200 });
    const examples = Object.values(found?.content ?? {}).flatMap((kind) => Object.values(kind.examples ?? {}));
    for (const { summary, value, 'x-request': request = '' } of examples) {
      test(`${operation.operationId}: ${summary}`, async () => {
        const isKey = path === '/api/key';
        if (isKey) await get(server, '/api/lookup/uid/7', keys.byDefault.secret);
        const needsKey = 'apiKey' in (operation.security[0] ?? {});
        const { secret } = isKey ? keys.byDefault : keys.both;
        const answer = await get(server, request.replace('GET ', ''), needsKey ? secret : null);
        const text = await answer.text();
        const own = isKey ? { identifier: keys.byDefault.identifier, name: 'Bot' } : {};
        const wanted = typeof value === 'string' ? value : JSON.stringify({ ...(value as object), ...own });
        expect(text).toBe(wanted);
      });
    }
  }
});
