import { describe, expect, test } from 'bun:test';
import { addAdmin } from '../../shared/admins.ts';
import type { Deps } from '../../shared/deps.ts';
import { eraseProfile } from '../../shared/erasure.ts';
import { moveAndNotify } from '../../shared/keys/life.ts';
import { LOG_GROUPS, type LogEntry, type LogFilter, readLog, sentenceOf } from '../../shared/log.ts';
import { OPERATIONS, perform } from '../../shared/operations.ts';
import { addToken } from '../../shared/tokens.ts';
import { DESCRIPTION, issue, request } from '../support/keys.ts';
import { importLines } from '../support/profiles.ts';
import { onBox, testClock, testDeps } from '../support/world.ts';

const GRACE = { kind: 'admin', name: 'Grace' } as const;

async function world() {
  const clock = testClock();
  const access = testDeps({ clock, variables: { PUBLIC_URL: 'http://localhost:3000' } });
  await importLines(access, [{ id: 7, username: 'ada', email: 'ada@example.org' }]);
  const { identifier } = await issue(access, { profile: 'ada' });
  /** Stores `count` changes of the key, one per second. */
  const change = (count: number, fromMs: number) =>
    access.db.$client
      .query(
        `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?)
           INSERT INTO events (about, at, by, by_kind, subject, event)
             SELECT ?, ? + i * 1000, 'root', 'operator', 'key', 'changed' FROM n`,
      )
      .run(count, identifier, fromMs);
  return { access, clock, change, identifier };
}

/** All entries, read in pages of `size`. */
function inPages({ db }: Pick<Deps, 'db'>, size: number, filter: LogFilter = {}): LogEntry[] {
  const { entries, next } = readLog(db, size, filter);
  return next === null ? entries : [...entries, ...inPages({ db }, size, { ...filter, after: next })];
}

describe('the log of people’s actions', () => {
  test('is the same in pages of any size, even if the clock was set back in between', async () => {
    const { access, clock, change } = await world();
    for (const [step, name] of ['Grace', 'Hopper', 'Ada'].entries()) {
      change(3, clock.nowMs());
      addAdmin(access, name, onBox('root'));
      clock.advance(step === 1 ? -3_600_000 : 2_000);
      await importLines(access, [{ id: 7, banned: step % 2 === 0 }], { merge: true });
    }
    const whole = readLog(access.db, 100).entries;
    expect(whole.length).toBe(17);
    for (const size of [1, 2, 3, 5]) expect(inPages(access, size)).toEqual(whole);
    expect(inPages(access, 2, { kinds: ['admins', 'bans'] })).toEqual(
      whole.filter(({ kind }) => /^(admin|profile)-/.test(kind)),
    );
  });

  test('continues where a page ended, without newer entries', async () => {
    const { access, clock, change } = await world();
    addAdmin(access, 'Grace', onBox('root'));
    change(3, clock.nowMs());
    const whole = readLog(access.db, 100).entries;
    const page = readLog(access.db, 2);
    clock.advance(60_000);
    await importLines(access, [{ id: 7, banned: true }], { merge: true });
    addAdmin(access, 'Hopper', onBox('root'));
    const rest = readLog(access.db, 100, { after: page.next ?? '' });
    expect([...page.entries, ...rest.entries]).toEqual(whole);
  });

  test('lists bans of any origin, and no UIDs of erased profiles', async () => {
    const { access, clock } = await world();
    const { db } = access;
    await importLines(access, [
      { id: 8, username: 'eve' },
      { id: 9, username: 'bob', banned: true },
    ]);
    await importLines(access, [{ id: 8, banned: true }], { merge: true, by: { kind: 'backend', name: 'backend' } });
    clock.advance(1_000);
    await importLines(access, [{ id: 8, banned: false }], { merge: true });
    const bans = () => readLog(db, 9, { kinds: ['bans'] }).entries.map(({ by, text, profile }) => [by, text, profile]);
    // A profile that is imported as banned was banned elsewhere.
    expect(bans()).toEqual([
      [expect.any(String), 'Lifted the ban of the profile with UID 8', 8],
      ['backend backend', 'Banned the profile with UID 8', 8],
    ]);
    clock.advance(1_000);
    eraseProfile(access, 8, onBox('root'));
    expect(readLog(db, 1).entries).toMatchObject([
      { by: 'root (on the box)', kind: 'profile-erased', text: 'Erased the profile with UID 8', profile: 8 },
    ]);
    expect(bans().map(([, text, profile]) => [text, profile])).toEqual([
      ['Lifted the ban of a profile that has since been erased', null],
      ['Banned a profile that has since been erased', null],
    ]);
    // While the UID is kept.
    db.$client.run('DELETE FROM erased_profiles');
    expect(readLog(db, 1).entries).toMatchObject([{ text: 'Erased a profile', profile: null }]);
    clock.advance(1_000);
    await importLines(access, [
      { id: 7, deleted: true },
      { id: 9, deleted: true },
      { id: 10, deleted: true },
    ]);
    expect(readLog(db, 1).entries).toMatchObject([
      { kind: 'profile-erased', text: 'Erased 2 profiles', profile: null },
    ]);
  });

  test('has no text by people about keys and passkeys in its sentences', async () => {
    const { access } = await world();
    const identifier = await request(access, { profile: 'ada' });
    moveAndNotify(access, 'reject', { identifier, reason: 'Say <more>.', by: GRACE });
    expect(readLog(access.db, 1).entries).toMatchObject([
      { by: 'admin Grace', text: `Rejected the request for key ${identifier}`, written: 'Say <more>.', profile: 7 },
    ]);
  });

  test('can be filtered by person, kind, key and time', async () => {
    const { access, clock, identifier } = await world();
    const { db } = access;
    const start = clock.nowMs();
    clock.advance(60_000);
    const other = await request(access, { profile: 'ada' });
    moveAndNotify(access, 'reject', { identifier: other, reason: 'No.', by: GRACE });
    addAdmin(access, 'Hopper', onBox('grace'));
    addToken(access, { name: 'b', rights: ['profiles'], excludesContactFields: false }, onBox('root'));
    const kinds = (filter: LogFilter) => readLog(db, 99, filter).entries.map(({ kind }) => kind);
    expect(kinds({ by: 'admin grace' })).toEqual(['key-rejected']);
    expect(kinds({ by: 'GRACE (on the box)' })).toEqual(['admin-added']);
    expect(kinds({ by: 'grace' }).toSorted()).toEqual(['admin-added', 'key-rejected']);
    expect(kinds({ by: 'admin' })).toContain('key-rejected');
    expect(kinds({ by: 'nobody' })).toEqual([]);
    expect(kinds({ kinds: ['tokens', 'key-rejected'] })).toEqual(['token-added', 'key-rejected']);
    expect(kinds({ key: other })).toEqual(['key-rejected', 'key-requested']);
    expect(kinds({ key: identifier, sinceMs: start + 1 })).toEqual([]);
    expect(kinds({ sinceMs: start + 1 })).toHaveLength(4);
    expect(kinds({ untilMs: start + 1 })).toEqual(['key-approved', 'key-requested']);
    expect(kinds({ kinds: ['erasures', 'restores', 'bans'] })).toEqual([]);
  });

  test('names the owner as long as the profile exists, and can be filtered by one', async () => {
    const { access } = await world();
    await importLines(access, [{ id: 8, username: 'Eve', email: 'eve@example.org' }]);
    for (const [profileId, profile] of [
      [7, 'ada'],
      [8, 'Eve'],
    ] as const) {
      const input = { profile, name: 'Own', description: DESCRIPTION, permissions: ['api.lookup'] };
      await perform(access, { kind: 'owner', name: 'owner', profileId }, OPERATIONS.request, input);
    }
    const of = (by: string) => readLog(access.db, 9, { by }).entries.map((entry) => [entry.by, entry.profile]);
    expect(of('owner EVE')).toEqual([['owner Eve', 8]]);
    eraseProfile(access, 8, onBox('root'));
    expect(of('owner eve')).toEqual([]);
    expect(of('owner').slice(0, 2)).toEqual([
      ['owner', null],
      ['owner ada', 7],
    ]);
  });

  test('can’t be changed or deleted; only what an erasure takes out', async () => {
    const { access } = await world();
    const { $client: sqlite } = access.db;
    await importLines(access, [{ id: 7, banned: true }], { merge: true });
    for (const change of [
      "by = 'x'",
      'profile_id = 8',
      'at = 1, profile_id = NULL',
      "data = '{}'",
      "event = 'erased'",
    ]) {
      expect(() => sqlite.run(`UPDATE events SET ${change} WHERE profile_id = 7`)).toThrow('append-only');
    }
    expect(() => sqlite.run('DELETE FROM events')).toThrow('append-only');
    sqlite.run('UPDATE events SET profile_id = NULL, data = NULL');
  });
});

test('every kind of entry has a sentence that names its subject', () => {
  for (const { subject, names } of LOG_GROUPS) {
    for (const event of names) {
      const sentence = sentenceOf({ subject, event, about: 'k7Qm2XaB', profileId: 7, data: null });
      expect(sentence).toMatch(/^[A-Z][a-z]+ .*(k7Qm2XaB|UID 7|database)/);
    }
  }
});
