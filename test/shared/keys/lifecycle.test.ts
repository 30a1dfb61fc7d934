import { beforeEach, describe, expect, test } from 'bun:test';
import type { Db } from '../../../shared/db/connect.ts';
import type { ListInput } from '../../../shared/keys/fields.ts';
import { parseExpiry } from '../../../shared/keys/inputs.ts';
import { editKey, moveAndNotify } from '../../../shared/keys/life.ts';
import { keyHistory, showKey } from '../../../shared/keys/view.ts';
import { approveKey, DESCRIPTION, issue, keyIn, keysListed, request } from '../../support/keys.ts';
import { eraseProfile, insertProfile } from '../../support/profiles.ts';
import { onBox, refusal, testClock, testDeps } from '../../support/world.ts';

const clock = testClock();
const deps = { ...testDeps({ clock }), clock };
let profile = 'user1';
let nextId = 1;

beforeEach(() => {
  profile = `user${nextId}`;
  insertProfile(deps.db, { id: nextId++ });
});

test('a name that a key already has is not recorded again', async () => {
  const identifier = await keyIn('Active', deps, profile);
  const before = keyHistory(deps, identifier);
  const { name } = showKey(deps, identifier);
  expect(editKey(deps, { identifier, name, by: onBox('owner') }).warning).toContain('nothing was changed');
  expect(keyHistory(deps, identifier)).toEqual(before);
});

test('the longest texts of a request are stored', async () => {
  const of = (length: number) => '𝒳'.repeat(length);
  const longest = { name: of(255), description: of(2_000), expectedUsage: of(1_000) };
  const projectUrl = `https://example.org/${'x'.repeat(2_028)}`;
  const identifier = await request(deps, { profile, ...longest, projectUrl });
  expect(showKey(deps, identifier)).toMatchObject({ ...longest, projectUrl });
});

test('texts are stored trimmed, with LF for CRLF, and permissions in their fixed order', async () => {
  const identifier = await request(deps, {
    profile,
    name: ' Bot ',
    description: ` ${DESCRIPTION}\r\nMore. `,
    permissions: ['api.leaderboard', 'api.lookup', 'api.lookup'],
    projectUrl: ' ',
  });
  expect(showKey(deps, identifier)).toMatchObject({
    profile,
    name: 'Bot',
    description: `${DESCRIPTION}\nMore.`,
    requestedPermissions: ['api.lookup', 'api.leaderboard'],
    permissions: [],
    rateLimits: [],
    projectUrl: null,
    state: 'pending',
    attempt: null,
  });
});

test('a profile has three slots: pending and Active keys use them, other keys free them', async () => {
  const first = await request(deps, { profile });
  const second = (await issue(deps, { profile })).identifier;
  const third = await request(deps, { profile });
  const error = await refusal(request(deps, { profile }));
  expect(error.code).toBe('refused');
  for (const identifier of [first, second, third]) expect(error.message).toContain(identifier);
  moveAndNotify(deps, 'withdraw', { identifier: first, by: onBox('owner') });
  const fourth = await request(deps, { profile });
  await moveAndNotify(deps, 'revoke', { identifier: second, reason: 'x', by: onBox('admin') });
  await moveAndNotify(deps, 'reject', { identifier: fourth, reason: 'x', by: onBox('admin') });
  await request(deps, { profile });
  await request(deps, { profile });
  expect((await refusal(request(deps, { profile }))).code).toBe('refused');
});

test('an expired key frees its slot', async () => {
  await request(deps, { profile });
  await request(deps, { profile });
  const { identifier } = await issue(deps, { profile }, { expiresAtMs: clock.nowMs() + 5000 });
  clock.advance(4999);
  expect((await refusal(request(deps, { profile }))).code).toBe('refused');
  clock.advance(1);
  await request(deps, { profile });
  expect(showKey(deps, identifier).state).toBe('expired');
});

test('a profile that is banned, unknown or has no e-mail address gets no key, and approval checks it again', async () => {
  insertProfile(deps.db, { id: 900, banned: true });
  insertProfile(deps.db, { id: 901, email: null });
  expect((await refusal(request(deps, { profile: 'user900' }))).code).toBe('refused');
  expect((await refusal(request(deps, { profile: 'user901' }))).code).toBe('refused');
  expect((await refusal(request(deps, { profile: 'nobody' }))).code).toBe('not_found');
  const identifier = await request(deps, { profile });
  setColumn(deps.db, profile, 'banned', 1);
  expect((await refusal(approveKey(deps, { identifier, grant: {}, by: onBox('admin') }))).message).toContain('banned');
  setColumn(deps.db, profile, 'banned', 0);
  setColumn(deps.db, profile, 'email', null);
  expect((await refusal(approveKey(deps, { identifier, grant: {}, by: onBox('admin') }))).message).toContain('e-mail');
  expect(showKey(deps, identifier)).toMatchObject({ state: 'pending', attempt: null });
});

function setColumn(db: Db, username: string, column: 'banned' | 'email', value: number | null): void {
  const set =
    column === 'email' ? 'email = ?' : "profile = json_set(profile, '$.banned', json(iif(?, 'true', 'false')))";
  db.$client.run(`UPDATE profiles SET ${set} WHERE username = ?`, [value, username]);
}

test('the list shows pending requests first, oldest first, and filters by state and profile', async () => {
  const active = (await issue(deps, { profile })).identifier;
  clock.advance(1000);
  const older = await request(deps, { profile });
  clock.advance(1000);
  const newer = await request(deps, { profile });
  const list = async (filter: ListInput) => keysListed(deps, filter).map((key) => key.identifier);
  expect(await list({ profile })).toEqual([older, newer, active]);
  expect(await list({ profile, states: ['Active'] })).toEqual([active]);
  expect(await list({ profile, states: ['rejected', 'expired'] })).toEqual([]);
  expect((await refusal(() => list({ profile: 'nobody' }))).code).toBe('not_found');
});

test('the database itself refuses an Active key without a secret, a deleted key and a changed history', async () => {
  const sql = deps.db.$client;
  const { identifier } = await issue(deps, { profile });
  expect(() => sql.run('UPDATE api_keys SET secret_hash = NULL WHERE identifier = ?', [identifier])).toThrow(
    'api_keys_secret',
  );
  expect(() => sql.run('DELETE FROM api_keys WHERE identifier = ?', [identifier])).toThrow('never deleted');
  expect(() => sql.run('DELETE FROM events WHERE about = ?', [identifier])).toThrow('append-only');
  expect(() => sql.run("UPDATE events SET by = 'x' WHERE about = ?", [identifier])).toThrow('append-only');
});

describe('time', () => {
  test('an expiry on a date that does not exist is refused, not moved', () => {
    const nowMs = Date.parse('2026-01-01T00:00:00Z');
    for (const text of ['2026-11-31', '2027-02-29T00:00:00Z', '2027-01-31T24:00Z', '2027-01-31T00:00:00']) {
      expect(() => parseExpiry(text, nowMs)).toThrow('expiry');
    }
    expect(parseExpiry('2026-11-30', nowMs)).toBe(Date.parse('2026-11-30T00:00:00Z'));
    expect(parseExpiry('2026-11-30T12:00:00+02:00', nowMs)).toBe(Date.parse('2026-11-30T10:00:00Z'));
    expect(parseExpiry('90d', nowMs)).toBe(nowMs + 90 * 86_400_000);
  });

  test('erasing a profile ends an expired key too, whose row is still Active', async () => {
    const { identifier } = await issue(deps, { profile }, { expiresAtMs: clock.nowMs() + 1000 });
    clock.advance(1000);
    eraseProfile(deps, profile, onBox('admin'));
    expect(showKey(deps, identifier)).toMatchObject({ state: 'revoked', profile: null, name: '', description: '' });
  });

  test('a clock that is set back delays an approval at most by the lease', async () => {
    const identifier = await request(deps, { profile });
    const mailing = Promise.withResolvers<void>();
    const send = () => {
      mailing.resolve();
      return new Promise<never>(() => {});
    };
    void approveKey({ ...deps, mailer: async () => ({ send }) }, { identifier, grant: {}, by: onBox('crashed') });
    await mailing.promise;
    clock.advance(-3_600_000);
    await approveKey(deps, { identifier, grant: {}, by: onBox('admin') });
    clock.advance(3_600_000);
    expect(showKey(deps, identifier)).toMatchObject({ state: 'Active', attempt: { number: 2 } });
  });
});
