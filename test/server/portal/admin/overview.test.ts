import { expect, test } from 'bun:test';
import { storeLastImport } from '../../../../shared/profiles/last-import.ts';
import { onBox } from '../../../support/actors.ts';
import { importLines } from '../../../support/import.ts';
import { issue, request } from '../../../support/keys.ts';
import { adminWorld, signInAdmin, textOf } from '../../../support/portal/admin-pages.ts';
import { useKey } from '../../../support/portal/owner-pages.ts';
import { visit } from '../../../support/portal/pages.ts';
import { use } from '../../../support/storage/limits.ts';

async function world() {
  const made = await adminWorld();
  const { cookie } = await signInAdmin(made, 'Grace');
  const overview = async () => visit(made, '/developers/admin/overview', { cookie });
  return { ...made, overview };
}

test('the overview of an unused service says so in full sentences', async () => {
  const { overview } = await world();
  const page = await overview();
  const text = textOf(page);
  expect(page.status).toBe(200);
  for (const part of [
    'Requests for keys None waiting.',
    'E-mails All delivered.',
    'No requests in the last 30 days.',
    'Every key used today has at least a fifth of each limit left, and none was rate-limited.',
    'No key was used in the last 30 days.',
  ]) {
    expect(text).toContain(part);
  }
  expect(text).toMatch(/Disk [\d.]+ (Mi|Gi|Ti)B of [\d.]+ (Mi|Gi|Ti)B free\./);
});

test('the overview shows requests by outcome, the busiest keys, keys near their limits, and waiting requests', async () => {
  const { access, clock, services, overview } = await world();
  const { db } = access;
  await importLines(access, [{ id: 8, username: 'bea', email: 'bea@example.org' }]);
  storeLastImport(db, { atMs: clock.nowMs(), by: onBox('root'), lines: 12_000, refused: 3 });
  const busy = (await issue(access, { profile: 'ada', name: 'Busy <bot>' })).identifier;
  const quiet = (await issue(access, { profile: 'bea', name: 'Quiet bot' })).identifier;
  // Today 2000 answered, 3 not found and 1000 over a limit; yesterday half as many answered and over a limit.
  useKey(access, busy, 2, 2_000);
  // Neither of the others was refused anything; one has little left.
  const insert = db.$client.query(
    'INSERT INTO key_usage (identifier, day, ok, not_found, forbidden, malformed, limited, failed, last_used_at) VALUES (?, ?, ?, 0, 0, 0, 0, 0, 0)',
  );
  const calm = (await issue(access, { profile: 'bea', name: 'Calm bot' })).identifier;
  const today = Math.floor(clock.nowMs() / 86_400_000);
  insert.run(quiet, today, 50);
  insert.run(calm, today, 40);
  const waiting = await request(access, { profile: 'ada' });
  db.$client.run(
    `INSERT INTO mails (identifier, kind, "to", subject, body, at, next_try_at, result, tries, fault)
       VALUES ('${waiting}', 'request', 'root@example.org', '', '', ${clock.nowMs()}, 0, 'refused', 1, 'No such <box>.')`,
  );
  clock.advance(1_200_000);
  const rateLimits = [
    { quota: 60, windowSeconds: 60 },
    { quota: 5_000, windowSeconds: 86_400 },
  ];
  use(services.limits, { identifier: quiet, rateLimits }, 50);
  use(services.limits, { identifier: calm, rateLimits }, 40);
  const page = await overview();
  const text = textOf(page);
  for (const part of [
    '1 waiting, the oldest for 20 minutes.',
    '1 abandoned in the last 30 days.',
    `request about ${waiting} to ADMIN_EMAIL, 20 minutes ago: No such`,
    'Last import 20 minutes ago by root (on the box): 12 000 lines, 3 of them refused.',
    'API requests Outcome Today (UTC) Last 30 days All 3 093 4 596 Successful 2 090 3 090 Not found 3 6',
    'Over a limit 1 000 1 500 Failed 0 0',
    'Quiet bot bea 10 of 60 per minute 0',
    'Busy <bot> ada 5 000 of 5 000 per day 1 000',
  ]) {
    expect(text).toContain(part);
  }
  const busiest = text.slice(text.indexOf('Busiest keys'));
  expect([text.split('Calm bot').length, busiest.split('Calm bot').length]).toEqual([2, 2]);
  expect(busiest.indexOf('Quiet bot')).toBeGreaterThan(busiest.indexOf('ada 3 003 4 506'));
  expect(page.body).toContain(`<a href="/developers/admin/keys/${busy}">`);
  expect(page.body).not.toMatch(/<bot>|<box>/);
});
