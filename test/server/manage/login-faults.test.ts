import { Database } from 'bun:sqlite';
import { expect, test } from 'bun:test';
import type { Signed } from '../../../shared/sessions-file/whose.ts';
import { ownerToSign } from '../../../shared/sign-ins/binding.ts';
import { getRaw } from '../../support/http.ts';
import { exchangeForm, sendLogin } from '../../support/portal/login.ts';
import { expectRefused, personTokenFor } from '../../support/portal/manage.ts';
import { ownerWorld } from '../../support/portal/owner-pages.ts';
import { serverOfPages } from '../../support/portal/pages.ts';

// The refusals of the two paths for personal tokens that are not the client's fault: as everywhere under /manage
// (faults.test.ts).

const world = await ownerWorld({ PUBLIC_URL: 'https://api.example.org', TRUSTED_PROXIES: '127.0.0.1' });
const server = await serverOfPages(world);
// Requests wait only briefly for a locked file.
world.access.sessions.sqlite.run('PRAGMA busy_timeout = 20');
const token = personTokenFor(world.access, ownerToSign(world.access, 7) as Signed);
const forms = { token: exchangeForm('a code'), revoke: { client_id: 'profilectl', token } };

for (const path of ['token', 'revoke'] as const) {
  const send = (headers: Record<string, string> = {}) =>
    sendLogin(server, path, forms[path], { 'X-Forwarded-Proto': 'https', ...headers });

  test(`${path} refuses plain HTTP, and a request without a host`, async () => {
    await expectRefused(await send({ 'X-Forwarded-Proto': 'http' }), 403, 'plain_http');
    const type = 'Content-Type: application/x-www-form-urlencoded';
    const raw = await getRaw(server, `/manage/v1/${path}`, ['Host: ', type, 'Content-Length: 0'], 'POST');
    expect(raw).toMatchObject({ status: 400 });
    expect(raw.headers.get('x-error-code')).toBe('bad_request');
  });

  test(`${path} returns 503 if the sessions file is locked, and 500 if it can’t be read`, async () => {
    const { sqlite, path: file } = world.access.sessions;
    using other = new Database(file);
    other.run('BEGIN IMMEDIATE');
    const busy = await send();
    expect(busy.headers.get('retry-after')).toBe('1');
    await expectRefused(busy, 503, 'busy');
    other.run('ROLLBACK');
    for (const table of ['tickets', 'sign_ins']) sqlite.run(`ALTER TABLE ${table} RENAME TO no_${table}`);
    const sentence = await expectRefused(await send(), 500, 'internal');
    expect(sentence).not.toMatch(/profiles\.db|SQL|sessions file/);
    for (const table of ['tickets', 'sign_ins']) sqlite.run(`ALTER TABLE no_${table} RENAME TO ${table}`);
  });
}
