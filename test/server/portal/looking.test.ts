import { Database } from 'bun:sqlite';
import { expect, test } from 'bun:test';
import { SECRET_HOLDERS } from '../../../shared/keys/key.ts';
import { keyRevision } from '../../../shared/keys/record.ts';
import { joinWords } from '../../../shared/text.ts';
import { issue, keyIn } from '../../support/keys.ts';
import { ADA, adminPages, servePages } from '../../support/pages.ts';
import { PAGES } from '../routes.ts';
import { useKey } from './stored.ts';

// Viewing pages changes nothing and reads no whole table, and pages and the API accept only their own kind of credential.

/**
 * What may be read from end to end: tables of a few rows, indexes that hold all that is asked for or only the rows that matter,
 * and the history from its newest entry until a page is full.
 */
const MAY_BE_SCANNED = [
  /^SCAN (admins|passkeys|backend_tokens|usage_days|json_each .*|\(subquery-\d+\)|CONSTANT ROW)$/,
  /^SCAN \w+ USING COVERING INDEX \w+$/,
  /^SCAN \w+ USING INDEX (key_attempts_open|mails_waiting|mails_undelivered)$/,
  /^SCAN events$/,
];

test('no page reads a whole table', async () => {
  const { access, clock, cookie, get, grace } = await adminPages();
  const { identifier: active } = await issue(access, { profile: ADA.username });
  useKey({ ...access, clock }, active, 3);
  const pending = await keyIn('pending', { ...access, clock }, 'bea');
  const { $client } = access.db;
  const query = $client.query.bind($client);
  const asked = new Set<string>();
  $client.query = ((text: string) => {
    asked.add(text);
    return query(text);
  }) as typeof $client.query;
  const shown = PAGES.filter(({ method, path }) => method === 'GET' && path.startsWith('/developers/'));
  const more = ['keys?state=Active', 'keys?find=ada', 'log?key=k7Qm2XaB', 'log?who=ada'];
  for (const path of [...shown.map(({ path }) => path), ...more.map((path) => `/developers/admin/${path}`)]) {
    const who = path.startsWith('/developers/admin') ? grace.cookie : cookie;
    for (const identifier of [active, pending]) await get(path.replace(':identifier', identifier), who);
  }
  const scans = [...asked].flatMap((text) => {
    const plan = query(`EXPLAIN QUERY PLAN ${text}`) as { all: () => { detail: string }[] };
    const isWrong = ({ detail }: { detail: string }) =>
      detail.startsWith('SCAN') && !MAY_BE_SCANNED.some((one) => one.test(detail));
    return plan
      .all()
      .filter(isWrong)
      .map(({ detail }) => `${detail}: ${text}`);
  });
  expect(scans).toEqual([]);
  expect([...asked].some((text) => text.includes('"mails"'))).toBe(true);
});

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
  const form = { reason: '', shown: keyRevision(access.db, identifier) };
  const revoked = await post(`/developers/keys/${identifier}/revoke`, form, cookie);
  expect([
    revoked.status,
    revoked.body.includes(`is expired; only ${joinWords(SECRET_HOLDERS, 'and')} keys can be revoked`),
  ]).toEqual([422, true]);
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
