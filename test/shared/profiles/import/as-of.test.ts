import { describe, expect, test } from 'bun:test';
import { DAY_MS, isoTime } from '../../../../shared/clock.ts';
import { dropErasedProfiles, eraseProfile, KEPT_AFTER_ERASURE_MS } from '../../../../shared/erasure.ts';
import { importProfiles, readAsOf } from '../../../../shared/profiles/import/import.ts';
import { request } from '../../../support/keys.ts';
import { changeByHand, exportText, IMPORT_OPTIONS, importLines, jsonLines } from '../../../support/profiles.ts';
import { onBox, testClock, testDeps } from '../../../support/world.ts';

const HOUR_MS = 3_600_000;

/** A file that was read an hour ago; since then somebody else has written. */
function world() {
  const clock = testClock();
  const deps = testDeps({ clock });
  const asOfMs = clock.nowMs();
  clock.advance(HOUR_MS);
  const stored = async () => Bun.JSONL.parse(await exportText(deps));
  return { clock, deps, asOfMs, stored };
}

const backend = { kind: 'backend', name: 'backend' } as const;

describe.each([false, true])('a file older than the stored profiles, strict %p', (strict) => {
  test('does not lift bans, restore former addresses or erased profiles, or, with --prune, erase new profiles', async () => {
    const { clock, deps, asOfMs, stored } = world();
    clock.advance(-2 * HOUR_MS);
    const old = [1, 2, 3, 4].map((id) => ({ id, username: `user${id}`, email: `old${id}@example.org`, banned: false }));
    await importLines(deps, [...old, { id: 8, username: 'gone' }]);
    clock.advance(2 * HOUR_MS);
    changeByHand(deps, 'user1', { banned: true });
    await importLines(deps, [{ id: 2, email: 'new2@example.org' }], { merge: true, by: backend });
    eraseProfile(deps, 3, onBox('operator'));
    await importLines(deps, [{ id: 9, username: 'new' }], { by: backend });
    const file = [...old.slice(0, 3), { id: 4, username: 'user4', viewsCount: 7 }];
    const confirm = async (profiles: number) => profiles === 1;
    const outcome = await importLines(deps, file, { strict, asOfMs, prune: { limitPercent: 20, confirm } });
    expect(outcome).toMatchObject({ imported: 1, pruned: 1, newer: 3, refused: [] });
    expect(outcome.details).toMatchObject({ newerIds: [1, 2, 3], notPruned: null });
    expect(await stored()).toMatchObject([
      { id: 1, banned: true },
      { id: 2, email: 'new2@example.org' },
      { id: 4, viewsCount: 7 },
      { id: 9, username: 'new' },
    ]);
  });

  test('reports the first 10 profiles, and counts all lines', async () => {
    const { deps, asOfMs } = world();
    const lines = Array.from({ length: 30 }, (_, at) => ({ id: at + 1, username: `user${at}` }));
    await importLines(deps, lines, { by: backend });
    const { newer, details } = await importLines(deps, [...lines, ...lines], { strict, asOfMs });
    expect([newer, details.newerIds]).toEqual([60, [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]]);
  });
});

async function withAda(deps: ReturnType<typeof testDeps>) {
  await importLines(deps, [{ id: 1, username: 'ada' }]);
  return deps;
}

test('changes of only names or links, and confirmations by a command or a backend, count as newer too', async () => {
  for (const [change, by] of [
    [{ aliases: ['lovelace'] }, 'command'],
    [{ links: [{ id: 'l', name: 'n', link: 'https://example.org' }] }, 'command'],
    [{ viewsCount: 3 }, 'command'],
    [{ banned: false }, 'command'],
    [{ banned: false }, 'backend'],
    [{ deleted: true }, 'backend'],
  ] satisfies [object, string][]) {
    const { clock, deps, asOfMs } = world();
    clock.advance(-2 * HOUR_MS);
    await withAda(deps);
    clock.advance(2 * HOUR_MS);
    if (by === 'command') changeByHand(deps, 'ada', change);
    else await importLines(deps, [{ id: 'deleted' in change ? 2 : 1, ...change }], { merge: true, by: backend });
    const line = { id: 'deleted' in change ? 2 : 1, username: 'eve' };
    expect([change, await importLines(deps, [line], { asOfMs })]).toMatchObject([change, { newer: 1, imported: 0 }]);
  }
});

test('after a backend sent the time of its lines, files of that time or later are imported', async () => {
  const { clock, deps, asOfMs, stored } = world();
  await importLines(deps, [{ id: 1, username: 'ada' }], { by: backend, asOfMs: asOfMs + 1_000 });
  expect(await importLines(deps, [{ id: 1, username: 'b' }], { asOfMs })).toMatchObject({ newer: 1 });
  expect(await importLines(deps, [{ id: 1, username: 'c' }], { asOfMs: asOfMs + 1_000 })).toMatchObject({
    imported: 1,
  });
  // Times written by a clock that was ahead are ignored.
  clock.jump(DAY_MS);
  changeByHand(deps, 'c', { username: 'd' });
  clock.jump(-DAY_MS);
  expect(await importLines(deps, [{ id: 1, username: 'e' }], { asOfMs: clock.nowMs() })).toMatchObject({ imported: 1 });
  expect(await stored()).toMatchObject([{ username: 'e' }]);
});

test('without --as-of, lines that change nothing are not written', async () => {
  const { clock, deps } = world();
  await withAda(deps);
  const writtenAt = () => deps.db.$client.query('SELECT written_at AS at FROM profiles').get();
  const before = writtenAt();
  clock.advance(1_000);
  await withAda(deps);
  expect(writtenAt()).toEqual(before);
  await importLines(deps, [{ id: 1, username: 'ada' }], { by: backend });
  expect(writtenAt()).toEqual({ at: clock.nowMs() });
});

test('the time may be neither in the future nor more than 40 days ago', () => {
  const nowMs = Date.parse('2026-06-01T00:00:00Z');
  const read = (atMs: number) => readAsOf(isoTime(atMs), nowMs);
  expect(read(nowMs)).toEqual({ atMs: nowMs });
  expect(read(nowMs + 1)).toEqual({ fault: expect.stringContaining('may not be in the future') });
  expect(read(nowMs - 40 * DAY_MS)).toEqual({ atMs: nowMs - 40 * DAY_MS });
  expect(read(nowMs - 40 * DAY_MS - 1)).toEqual({ fault: 'may not be more than 40 days in the past' });
  const fault = 'must be an ISO 8601 time with a time zone, such as 2027-01-31T02:00:00Z';
  expect(readAsOf('2026-05-01T00:00:00', nowMs)).toEqual({ fault });
});

test('erased profiles are recorded for 40 days, only by id', async () => {
  const { clock, deps } = world();
  await withAda(deps);
  eraseProfile(deps, 1, onBox('operator'));
  const rows = () => deps.db.$client.query('SELECT * FROM erased_profiles').all();
  const atMs = clock.nowMs();
  clock.advance(KEPT_AFTER_ERASURE_MS);
  expect(dropErasedProfiles(deps.db.$client, clock.nowMs())).toBe(false);
  expect(rows()).toEqual([{ id: 1, at: atMs }]);
  expect(await importLines(deps, [{ id: 1, username: 'ada' }], { asOfMs: atMs - 1 })).toMatchObject({ newer: 1 });
  clock.advance(1);
  expect(dropErasedProfiles(deps.db.$client, clock.nowMs())).toBe(false);
  expect(rows()).toEqual([]);
});

test('many ids are deleted in parts, while the server continues to work', () => {
  const { clock, deps } = world();
  const count = () => deps.db.$client.query('SELECT count(*) AS n FROM erased_profiles').get();
  deps.db.$client.run(
    'WITH RECURSIVE ids (id) AS (SELECT 1 UNION ALL SELECT id + 1 FROM ids WHERE id < 5000) INSERT INTO erased_profiles SELECT id, 0 FROM ids',
  );
  let parts = 1;
  while (dropErasedProfiles(deps.db.$client, clock.nowMs())) parts++;
  expect([parts, count()]).toEqual([3, { n: 0 }]);
});

test('an import uses the time of each batch, so that times in histories ascend', async () => {
  const clock = testClock();
  const deps = testDeps({ clock });
  await importLines(deps, [{ id: 1, username: 'ada', email: 'ada@example.org' }]);
  const lines = Array.from({ length: 2_000 }, (_, at) => ({ id: at + 10, username: `user${at}` }));
  let identifier = '';
  const source = (async function* () {
    yield Buffer.from(jsonLines(...lines));
    // These lines are applied by the time when the next bytes are read.
    clock.advance(1_000);
    identifier = await request(deps, { profile: 'ada' });
    clock.advance(1_000);
    yield Buffer.from(jsonLines({ id: 1, username: 'ada', email: 'other@example.org' }, { id: 2, username: 'bob' }));
  })();
  await importProfiles(deps, source, IMPORT_OPTIONS);
  const events = deps.db.$client
    .query('SELECT event, at FROM events WHERE about = ? ORDER BY rowid')
    .all(identifier) as { event: string; at: number }[];
  const startMs = Date.parse('2026-01-01T00:00:00Z');
  expect(events).toEqual([
    { event: 'requested', at: startMs + 1_000 },
    { event: 'address changed', at: startMs + 2_000 },
  ]);
  const created = deps.db.$client.query('SELECT written_at AS at FROM profiles WHERE id IN (10, 2) ORDER BY id DESC');
  expect(created.all()).toEqual([{ at: startMs }, { at: startMs + 2_000 }]);
});
