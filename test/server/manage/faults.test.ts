import { expect, test } from 'bun:test';
import { getRaw } from '../../support/http.ts';
import { call, expectRefused, tokenFor } from '../../support/manage.ts';
import { ownerWorld, serverOfPages } from '../../support/pages.ts';

// The refusals of every path with a token that come before authentication, or are not the client's fault.

const world = await ownerWorld({ PUBLIC_URL: 'https://api.example.org', TRUSTED_PROXIES: '127.0.0.1' });
const { access } = world;
const server = await serverOfPages(world);
const token = tokenFor(access);

test.each([
  ['GET', '/manage/v1/me'],
  ['POST', '/manage/v1/profiles'],
  ['POST', '/manage/v1/sign-ins'],
])(
  '%s %s refuses plain HTTP and a missing host, and reports an error of the server without its cause',
  async (method, path) => {
    const ask = (headers: Record<string, string> = {}) =>
      call(server, path, token, {
        method,
        ...(method === 'POST' && { body: {} }),
        headers: { 'X-Forwarded-Proto': 'https', ...headers },
      });
    await expectRefused(await ask({ 'X-Forwarded-Proto': 'http' }), 403, 'plain_http');
    const raw = await getRaw(server, path, ['Host: ', 'Content-Length: 0'], method);
    expect([raw.status, raw.headers.get('x-error-code')]).toEqual([400, 'bad_request']);
    access.db.$client.run('ALTER TABLE backend_tokens RENAME TO gone');
    const sentence = await expectRefused(await ask(), 500, 'internal');
    access.db.$client.run('ALTER TABLE gone RENAME TO backend_tokens');
    expect(sentence).not.toMatch(/profiles\.db|SQL|no such table/);
  },
);
