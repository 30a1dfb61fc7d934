import { expect, test } from 'bun:test';
import { join } from 'node:path';
import { createConfig, lintFromString } from '@redocly/openapi-core';
import { toTemplate } from '../../../server/docs/openapi/builder.ts';
import { resolved } from '../../../server/docs/openapi/read.ts';
import type { OpenApi, Operation } from '../../../server/docs/openapi/types.ts';
import { manageDocument } from '../../../server/manage/document/document.ts';
import { LOGIN_ROUTES, MANAGE_ROUTES } from '../../../server/manage/routes.ts';
import { DECISIONS } from '../../../shared/operations.ts';
import type { Signed } from '../../../shared/sessions-file/whose.ts';
import { ownerToSign } from '../../../shared/sign-ins/binding.ts';
import { PROJECT } from '../../support/cli.ts';
import { call, expectRefused, personTokenFor, sendLines, tokenFor } from '../../support/portal/manage.ts';
import { pageWorld, serverOfPages } from '../../support/portal/pages.ts';
import { insertProfile } from '../../support/profiles.ts';
import { drawHalf, seededRandom } from '../../support/rounds.ts';

// The helpers of the other tests of this folder check that each response matches the document.

const world = pageWorld({ PUBLIC_URL: 'https://api.example.org/lookup', TRUSTED_PROXIES: '127.0.0.1' });
const { access } = world;
const server = await serverOfPages(world);

test('the OpenAPI document of /manage is public, and has the server’s own URL', async () => {
  const answer = await fetch(`${server.url}/manage/openapi.json`);
  expect([answer.status, answer.headers.get('content-type')]).toEqual([200, 'application/json']);
  const { servers, info } = (await answer.json()) as OpenApi;
  expect([servers[0]?.url, info.license.url]).toEqual([
    'https://api.example.org/lookup',
    'https://api.example.org/lookup/docs',
  ]);
  const other = await fetch(`${server.url}/manage/openapi.json`, { method: 'POST' });
  expect([other.status, other.headers.get('allow')]).toEqual([405, 'GET, HEAD']);
});

test('the document is compressed for clients that accept gzip, and not sent again if it is unchanged', async () => {
  const ask = (headers: Record<string, string>) => fetch(`${server.url}/manage/openapi.json`, { headers });
  const [plain, compressed] = [await ask({ 'Accept-Encoding': 'identity' }), await ask({ 'Accept-Encoding': 'gzip' })];
  expect([plain, compressed].map(({ headers }) => headers.get('content-encoding'))).toEqual([null, 'gzip']);
  expect(await compressed.text()).toBe(await plain.text());
  const known = { 'Accept-Encoding': 'gzip', 'If-None-Match': compressed.headers.get('etag') ?? '' };
  expect((await ask(known)).status).toBe(304);
});

test('refusals before authentication match the document', async () => {
  const token = tokenFor(access);
  const forwarded = { headers: { 'X-Forwarded-Proto': 'http' } };
  await expectRefused(await call(server, '/manage/v1/me', token, forwarded), 403, 'plain_http');
  await expectRefused(await call(server, `/manage/${'a'.repeat(8_192)}`, token), 414, 'uri_too_long');
  // This server was started without the import command.
  await expectRefused(await sendLines(server, token, '', '{}'), 503, 'not_ready');
});

test('the document is valid by Redocly’s recommended rules, without a warning', async () => {
  const config = await createConfig({ extends: ['recommended'] });
  const source = JSON.stringify(manageDocument()).replaceAll('http://127.0.0.1:3000', 'https://api.example.org');
  const problems = await lintFromString({ source, config, absoluteRef: join(PROJECT, 'manage.json') });
  // Admins' decisions have no success response, because no token can make them.
  const refusedOnly = DECISIONS.filter(({ who }) => who.owner === 'none').map(({ name }) => [
    'operation-2xx-response',
    `#/paths/~1manage~1v1~1keys~1{identifier}~1${name}/post/responses`,
  ]);
  expect(problems.map(({ ruleId, location }) => [ruleId, location[0]?.pointer as string])).toEqual(refusedOnly);
});

test('the document has every route with the token and the right that it needs', () => {
  const { paths } = manageDocument();
  const shown = Object.entries(paths).flatMap(([path, operations]) =>
    Object.entries(operations as Record<string, Operation>).map(([method, operation]) => {
      return [method.toUpperCase(), path, operation.security, operation['x-right']];
    }),
  );
  const any = [{ backend: [] }, { person: [] }];
  const wanted = MANAGE_ROUTES.map(({ method, path, who }) => {
    const security = who === 'any' ? any : who === 'person' ? [{ person: [] }] : [{ backend: [] }];
    return [method, toTemplate(path), security, typeof who === 'string' ? undefined : who.backend];
  });
  const logins = LOGIN_ROUTES.map(({ method, path }) => [method, path, [], undefined]);
  expect(shown.sort()).toEqual([...wanted, ...logins].sort());
});

test('examples of refusals have the sentences of real ones, without the advice for clients of /api', async () => {
  const document = manageDocument();
  insertProfile(access.db, { id: 7 });
  const owner = personTokenFor(access, ownerToSign(access, 7) as Signed);
  const backend = tokenFor(access, { name: 'other', rights: ['sign-ins'] });
  const [keys, key] = ['/manage/v1/keys', '/manage/v1/keys/{identifier}'];
  type Asked = readonly [method: string, path: string, token: string | null, code: string, body?: object];
  const asked: Asked[] = [
    ...drawHalf(MANAGE_ROUTES, seededRandom('refusals under /manage')).flatMap(({ method, path, who }): Asked[] => {
      const at = toTemplate(path);
      const other = who === 'person' ? backend : owner;
      return [
        [method, at, null, 'no_credentials'],
        ...(who === 'any' ? [] : [[method, at, other, 'forbidden'] as const]),
      ];
    }),
    ['GET', '/manage/v1/me', 'wrong', 'invalid_token'],
    ['POST', '/manage/v1/profiles', backend, 'insufficient_scope'],
    ['POST', '/manage/v1/sign-ins', backend, 'not_found', { uid: 8 }],
    ['GET', `${keys}?profile=nobody`, owner, 'not_found'],
    ['GET', key, owner, 'not_found'],
    ['PATCH', key, owner, 'not_found', { name: 'Bot' }],
    ['GET', '/manage/v1/nothing', owner, 'unknown_path'],
    ['PUT', '/manage/v1/me', owner, 'method_not_allowed'],
    ['GET', '/manage/v1/nothing', null, 'no_credentials'],
  ];
  for (const [method, path, token, code, body] of asked) {
    const answer = await call(server, path.replace('{identifier}', '00000000'), token, { method, body });
    const operation = document.paths[path.replace(/\?.*/, '')]?.[method.toLowerCase() as 'get'];
    const response = (operation?.responses ?? document['x-other-requests'].responses)[answer.status];
    const { examples } = (response && resolved(document, response))?.content?.['application/json'] ?? {};
    expect([method, path, examples?.[code]?.value]).toEqual([method, path, await answer.json()]);
    expect(answer.headers.get('x-error-code')).toBe(code);
  }
  expect(JSON.stringify(document)).not.toContain('x-remedy');
});
