import { Database } from 'bun:sqlite';
import { expect, test } from 'bun:test';
import { issue } from '../../support/keys.ts';
import { ADA, servePages } from '../../support/pages.ts';

// Viewing pages changes nothing, and pages and the API accept only their own kind of credential.

test('a key is shown as expired at once, and nothing is stored for it, even while the database is locked', async () => {
  const { access, clock, cookie, get, post } = await servePages();
  const { identifier } = await issue(access, { profile: ADA.username }, { expiresAtMs: clock.nowMs() + 90_000 });
  clock.advance(3_600_000);
  const traces = () => access.db.$client.query('SELECT count(*), max(id), total_changes() FROM events').values();
  const before = traces();
  using other = new Database(access.config.databasePath);
  other.run('BEGIN IMMEDIATE');
  const looks = async () => {
    const [list, page] = [await get('/developers/keys', cookie), await get(`/developers/keys/${identifier}`, cookie)];
    expect([list.status, page.status]).toEqual([200, 200]);
    expect(list.body).toContain('0 of 3 keys used');
    expect(page.body).toContain('Expired <time datetime="2026-01-01T00:01:30.000Z">');
  };
  await looks();
  other.run('ROLLBACK');
  expect(traces()).toEqual(before);
  const revoked = await post(`/developers/keys/${identifier}/revoke`, { reason: '' }, cookie);
  expect([revoked.status, revoked.body.includes('is expired; only Active and suspended keys can be revoked')]).toEqual([
    422,
    true,
  ]);
});

test('pages accept only the cookie, and the API only the bearer token', async () => {
  const { access, cookie, get } = await servePages();
  const { secret } = await issue(access, { profile: ADA.username });
  const token = cookie.split('=')[1] as string;
  const statusOf = async (path: string, headers: Record<string, string>) => (await get(path, '', headers)).status;
  for (const bearer of [secret, token]) {
    expect(await statusOf('/developers/keys', { Authorization: `Bearer ${bearer}` })).toBe(303);
    expect(await statusOf('/developers/keys', { Authorization: `Bearer ${bearer}`, cookie })).toBe(200);
  }
  expect(await statusOf('/api/key', { Authorization: `Bearer ${secret}` })).toBe(200);
  for (const headers of [{ cookie }, { cookie: `session=${secret}` }, { Authorization: `Bearer ${token}` }]) {
    expect(await statusOf('/api/key', headers)).toBe(401);
  }
});
