import { expect, test } from 'bun:test';
import { createMetrics, printFamilies } from '../../../server/observability/metrics.ts';
import { storeFact } from '../../../shared/db/facts.ts';
import { KEY_STATES } from '../../../shared/db/schema.ts';
import { moveAndNotify } from '../../../shared/keys/life.ts';
import { VERSION } from '../../../shared/version.ts';
import { get, startTestServer } from '../../support/http.ts';
import { issue, keyFor, keyIn, moveByAdmin, prepare, request } from '../../support/keys.ts';
import { importLines, insertProfile } from '../../support/profiles.ts';
import { onBox, testClock, testDeps } from '../../support/world.ts';
import { getRaw } from '../raw.ts';
import { expectRefusal } from '../refusals.ts';

const METRICS_TOKEN = 'scraper.7Rk2mQ9bTzA~';
const REALM = 'Bearer realm="profile-lookup"';

/** The samples of a scrape by their names and labels. */
function samplesOf(text: string): Record<string, number> {
  const lines = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  return Object.fromEntries(
    lines.map((line) => [line.slice(0, line.lastIndexOf(' ')), Number(line.slice(line.lastIndexOf(' ') + 1))]),
  );
}

async function scrape(server: { url: string }): Promise<Record<string, number>> {
  const answer = await get(server, '/metrics', METRICS_TOKEN);
  expect(answer.status).toBe(200);
  return samplesOf(await answer.text());
}

test('/metrics responds with 404 if METRICS_TOKEN is unset, whatever token is sent', async () => {
  const server = await startTestServer();
  for (const token of [null, '', METRICS_TOKEN]) {
    await expectRefusal(await get(server, '/metrics', token), 404, { 'WWW-Authenticate': null });
  }
});

test('only METRICS_TOKEN gives access, not an API key, and guessing is throttled', async () => {
  const server = await startTestServer({ variables: { METRICS_TOKEN } });
  const secret = await prepare(server.deps);
  const sentence = await expectRefusal(await get(server, '/metrics'), 401, { 'WWW-Authenticate': REALM });
  expect(sentence).not.toContain(METRICS_TOKEN);
  const wrong = [secret, `${METRICS_TOKEN}x`, METRICS_TOKEN.slice(0, -1), METRICS_TOKEN.toUpperCase()];
  for (const token of wrong) {
    const headers = { 'WWW-Authenticate': `${REALM}, error="invalid_token"` };
    await expectRefusal(await get(server, '/metrics', token), 401, headers);
  }
  // An IP address has one allowance for keys and METRICS_TOKEN together.
  for (let turn = 0; turn < 25; turn++) expect((await get(server, '/api/key', 'guess')).status).toBe(401);
  await expectRefusal(await get(server, '/metrics', 'guess'), 429, { 'Retry-After': '61', 'WWW-Authenticate': null });
  expect((await get(server, '/metrics', METRICS_TOKEN)).status).toBe(200);
});

test('the body is Prometheus’ text format, never cached, and empty for HEAD', async () => {
  const server = await startTestServer({ variables: { METRICS_TOKEN } });
  const bearer = [`Authorization: bearer ${METRICS_TOKEN}`];
  const full = await getRaw(server, '/metrics', bearer);
  expect(full.headers.get('content-type')).toBe('text/plain; version=0.0.4; charset=utf-8');
  expect(full.headers.get('cache-control')).toBe('no-store');
  const names = [...full.body.matchAll(/^# TYPE (\S+) (counter|gauge|histogram)$/gm)].map(([, name]) => name);
  expect(names.length).toBeGreaterThan(12);
  for (const name of names) expect(full.body).toContain(`# HELP ${name} `);
  for (const line of full.body.split('\n').filter(Boolean)) {
    expect(line).toMatch(/^(# (HELP|TYPE) .+|[a-z_]+(\{[a-z]+="[^"]*"(,[a-z]+="[^"]*")*\})? [-+0-9.eE]+)$/);
  }
  const head = await getRaw(server, '/metrics', bearer, 'HEAD');
  expect([head.status, head.body]).toEqual([200, '']);
});

test('every response is counted by route and status, with its duration; clients can’t create labels', async () => {
  const server = await startTestServer({ variables: { METRICS_TOKEN } });
  const secret = await prepare(server.deps);
  const { secret: narrow } = await keyFor(server.deps, ['1/1m']);
  for (let turn = 0; turn < 3; turn++) await get(server, '/api/lookup/uid/7', secret);
  await get(server, '/api/lookup/uid/8', secret);
  await get(server, '/api/lookup/uid/x', secret);
  for (const path of ['/api/a', '/api/b', '/api/c?d']) await get(server, path, secret);
  for (const path of ['/e', '/f']) await get(server, path);
  await get(server, '/api/key', 'guess');
  await get(server, '/api/lookup/uid/7', narrow);
  await get(server, '/api/lookup/uid/7', narrow);
  const samples = await scrape(server);
  const uid = (status: number) =>
    samples[`profile_lookup_http_requests_total{route="/api/lookup/uid/:uid",status="${status}"}`];
  expect([uid(200), uid(404), uid(400), uid(429)]).toEqual([4, 1, 1, 1]);
  expect(samples['profile_lookup_http_requests_total{route="none",status="404"}']).toBe(5);
  expect(samples['profile_lookup_http_request_duration_seconds_count{route="/api/lookup/uid/:uid"}']).toBe(7);
  expect(samples['profile_lookup_http_request_duration_seconds_bucket{le="+Inf",route="none"}']).toBe(5);
  const refused = (code: string) => samples[`profile_lookup_refusals_total{code="${code}"}`];
  expect(['not_found', 'bad_parameter', 'unknown_path', 'invalid_token', 'rate_limited'].map(refused)).toEqual([
    1, 1, 5, 1, 1,
  ]);
  // A scrape does not count itself, but the next one does.
  expect((await scrape(server))['profile_lookup_http_requests_total{route="/metrics",status="200"}']).toBe(1);
});

test('keys, the queue and mails are read from the database on each scrape', async () => {
  const server = await startTestServer({ variables: { METRICS_TOKEN } });
  const { deps } = server;
  const before = await scrape(server);
  expect(before.profile_lookup_oldest_pending_request_age_seconds).toBe(0);
  for (let id = 1; id <= 5; id++) insertProfile(deps.db, { id });
  await request(deps, { profile: 'user1' });
  deps.clock.advance(60_000);
  await request(deps, { profile: 'user1' });
  await keyIn('rejected', deps, 'user2');
  await issue(deps, { profile: 'user3' });
  const { identifier } = await issue(deps, { profile: 'user4' });
  await moveAndNotify(deps, 'revoke', { identifier, reason: 'Leaked.', by: onBox('admin') });
  await keyIn('suspended', deps, 'user2');
  for (let at = 0; at < 2; at++) {
    const expiring = await issue(deps, { profile: 'user5' }, { expiresAtMs: deps.clock.nowMs() + 1_000 });
    if (at === 1) moveByAdmin(deps, expiring.identifier, 'suspend');
  }
  deps.clock.advance(5_000);
  const samples = await scrape(server);
  const counts = { pending: 2, Active: 1, suspended: 1, rejected: 1, withdrawn: 0, revoked: 1, expired: 2 };
  expect(
    Object.fromEntries(KEY_STATES.map((state) => [state, samples[`profile_lookup_keys{state="${state}"}`]])),
  ).toEqual({ ...Object.fromEntries(KEY_STATES.map((state) => [state, 0])), ...counts });
  expect(samples.profile_lookup_oldest_pending_request_age_seconds).toBe(65);
  expect(samples['profile_lookup_approval_mails_total{outcome="accepted"}']).toBe(5);
  expect(samples['profile_lookup_approval_mails_total{outcome="not_confirmed"}']).toBe(0);
  expect(samples.profile_lookup_approval_attempts_open).toBe(0);
  expect(samples['profile_lookup_database_size_bytes{file="main"}']).toBeGreaterThan(0);
  expect(samples[`profile_lookup_info{version="${VERSION}"}`]).toBe(1);
  expect(samples.process_start_time_seconds).toBe(Date.parse('2026-01-01T00:00:00Z') / 1000);
});

test('the age of the last backup is absent until there is one, and never negative', async () => {
  const clock = testClock();
  const deps = testDeps({ clock });
  const metrics = createMetrics(deps);
  const age = async () => samplesOf(await metrics.read()).profile_lookup_last_backup_age_seconds;
  const note = (at: string) => storeFact(deps.db.$client, 'last backup', JSON.stringify({ at, file: '/b' }));
  expect(await age()).toBeUndefined();
  note('2025-12-31T23:00:00.000Z');
  expect(await age()).toBe(3600);
  note('2027-01-01T00:00:00.000Z');
  expect(await age()).toBe(0);
});

test('the last import that changed something is there, with who ran it', async () => {
  const clock = testClock();
  const deps = testDeps({ clock });
  const metrics = createMetrics(deps);
  const last = async () => {
    const samples = samplesOf(await metrics.read());
    return Object.fromEntries(
      Object.entries(samples).filter(([name]) => name.startsWith('profile_lookup_last_import')),
    );
  };
  await importLines(deps, ['nonsense']);
  expect(await last()).toEqual({});
  await importLines(deps, [{ id: 1, username: 'ada' }, '', 'nonsense']);
  clock.advance(60_000);
  expect(await last()).toEqual({
    profile_lookup_last_import_age_seconds: 60,
    profile_lookup_last_import_lines: 2,
    profile_lookup_last_import_refused_lines: 1,
    'profile_lookup_last_import_info{by="operator (on the box)"}': 1,
  });
  await importLines(deps, [{ id: 2, username: 'bob' }], { by: { kind: 'backend', name: 'backend' } });
  expect(Object.keys(await last())).toHaveLength(4);
  const samples = samplesOf(await metrics.read());
  expect(samples).toMatchObject({
    profile_lookup_last_feed_age_seconds: 0,
    profile_lookup_last_feed_lines: 1,
    profile_lookup_last_feed_refused_lines: 0,
    'profile_lookup_last_feed_info{by="backend backend"}': 1,
  });
});

test('a crashed attempt is open until its lease ends, then not confirmed', async () => {
  const clock = testClock();
  const deps = testDeps({ clock });
  insertProfile(deps.db);
  const identifier = await request(deps);
  deps.db.$client.run(
    `INSERT INTO key_attempts (identifier, number, by, started_at, lease_ends_at, permissions, rate_limits, result)
       VALUES ('${identifier}', 1, 'admin', ${clock.nowMs()}, ${clock.nowMs() + 1_000}, '[]', '[]', 'open')`,
  );
  const metrics = createMetrics(deps);
  const open = 'profile_lookup_approval_attempts_open';
  const lost = 'profile_lookup_approval_mails_total{outcome="not_confirmed"}';
  expect(samplesOf(await metrics.read())).toMatchObject({ [open]: 1, [lost]: 0 });
  clock.advance(1_000);
  expect(samplesOf(await metrics.read())).toMatchObject({ [open]: 0, [lost]: 1 });
});

test('metrics are printed in Prometheus’ text format, whatever characters a label has', () => {
  const text = printFamilies([
    { name: 'a_total', help: 'Help.', type: 'counter', samples: [[{}, 0.5]] },
    { name: 'b', help: 'More.', type: 'gauge', samples: [] },
    {
      name: 'c_seconds',
      help: 'Time.',
      type: 'histogram',
      samples: [
        [{ le: '+Inf', route: 'a"\\\n' }, 2, '_bucket'],
        [{ status: 200 }, 1e-7, '_sum'],
      ],
    },
  ]);
  expect(text).toBe(`# HELP a_total Help.
# TYPE a_total counter
a_total 0.5

# HELP b More.
# TYPE b gauge

# HELP c_seconds Time.
# TYPE c_seconds histogram
c_seconds_bucket{le="+Inf",route="a\\"\\\\\\n"} 2
c_seconds_sum{status="200"} 1e-7
`);
});
