import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { DAY_MS, SETTLE_MS } from '../../../../shared/clock.ts';
import { openDatabase } from '../../../../shared/db-files/open.ts';
import { expireKeys } from '../../../../shared/keys/life/expire.ts';
import { editKey, revokeKey } from '../../../../shared/keys/life/lifecycle.ts';
import { readKey } from '../../../../shared/keys/record.ts';
import { keyHistory, showKey } from '../../../../shared/keys/view.ts';
import { checkDatabase } from '../../../../shared/upkeep/check.ts';
import { onBox } from '../../../support/actors.ts';
import { copyKey } from '../../../support/identifiers.ts';
import { issue, keysListed } from '../../../support/keys.ts';
import { insertProfile } from '../../../support/profiles.ts';
import { readingOf } from '../../../support/reading.ts';
import { refusal } from '../../../support/refusal.ts';
import { rounds } from '../../../support/rounds.ts';
import { createClockModel } from '../../../support/storage/clock-model.ts';
import { testClock, testDeps } from '../../../support/world.ts';

const DAY = { expiresIn: DAY_MS };

/** A profile with `count` keys that expire after a day, and a clock that can be settled. */
async function world(count = 1, isSettled = true) {
  const clock = testClock(undefined, isSettled);
  const deps = { ...testDeps(), clock };
  insertProfile(deps.db);
  const keys = [];
  for (let at = 0; at < count; at++) {
    keys.push(await issue(deps, {}, { expiresAtMs: clock.nowMs() + DAY.expiresIn }));
  }
  const [{ identifier, secret } = { identifier: '', secret: '' }] = keys;
  const stored = (of = identifier) => readKey(deps.db, of).state;
  return { clock, deps, keys, identifier, secret, stored, ...readingOf(deps) };
}

test('the server stores an expiry once, with the time at which the key expired', async () => {
  const { clock, deps, identifier, stored } = await world();
  clock.advance(DAY_MS - 1);
  expireKeys(deps);
  expect(stored()).toBe('Active');
  clock.advance(5_001);
  for (let turn = 0; turn < 2; turn++) {
    expireKeys(deps);
    expect(stored()).toBe('expired');
  }
  expect(readKey(deps.db, identifier).secretHash).toBeNull();
  const ends = keyHistory(deps, identifier).filter(({ event }) => event === 'expired');
  expect(ends).toMatchObject([{ by: 'system', at: showKey(deps, identifier).expiresAt }]);
});

test('many expired keys are stored 100 at a time, so that requests don’t wait', async () => {
  const { clock, deps, identifier } = await world();
  for (let id = 2; id <= 101; id++) {
    insertProfile(deps.db, { id });
    copyKey(deps.db, identifier, `aaaaa${100 + id}`, id);
  }
  clock.advance(DAY_MS);
  const stored = () => deps.db.$client.query("SELECT count(*) AS n FROM api_keys WHERE state = 'expired'").get();
  const counts = [];
  for (let turn = 0; turn < 2; turn++) {
    expireKeys(deps);
    counts.push(stored());
  }
  expect(counts).toEqual([{ n: 100 }, { n: 101 }]);
  expect(checkDatabase(deps.db).faults).toEqual([]);
});

test('a history has the expiry at its time, even if the key was renamed before that was stored', async () => {
  const { clock, deps, identifier } = await world(1, false);
  clock.advance(SETTLE_MS / 2);
  clock.jump(DAY_MS);
  editKey(deps, { identifier, name: 'Other', by: onBox('owner') });
  const latest = () =>
    keyHistory(deps, identifier)
      .slice(-3)
      .map(({ event, from, to }) => [event, from, to]);
  const before = latest();
  expect(before).toEqual([
    ['approved', 'pending', 'Active'],
    ['expired', 'Active', 'expired'],
    ['edited', 'expired', 'expired'],
  ]);
  clock.settledMs();
  clock.advance(SETTLE_MS);
  expireKeys(deps);
  expect(readKey(deps.db, identifier).state).toBe('expired');
  expect(latest()).toEqual(before);
  expect(checkDatabase(deps.db).faults).toEqual([]);
});

test('an expiry is stored later, without waiting, while another process holds the lock', async () => {
  const { clock, deps, stored } = await world();
  const other = openDatabase(deps.config.databasePath, 'use');
  other.$client.run('BEGIN IMMEDIATE');
  clock.advance(DAY_MS);
  const began = performance.now();
  expect((await refusal(() => expireKeys(deps))).code).toBe('busy');
  // The connection’s own busy timeout is two seconds.
  expect(performance.now() - began).toBeLessThan(1_000);
  other.$client.run('ROLLBACK');
  other.$client.close();
  expireKeys(deps);
  expect(stored()).toBe('expired');
});

test('a command, whose clock never settles, stores nothing, but treats the key as expired everywhere', async () => {
  const { clock, deps, identifier, keys, secret, stored, verify } = await world(3, false);
  clock.jump(DAY_MS);
  expect(verify(secret)).toBeNull();
  expect(showKey(deps, identifier).state).toBe('expired');
  expect(keyHistory(deps, identifier).at(-1)).toMatchObject({ event: 'expired', by: 'system' });
  expect((await keysListed(deps, { states: ['expired'] })).length).toBe(3);
  expect(await keysListed(deps, { states: ['Active'] })).toEqual([]);
  const revoking = await refusal(() => revokeKey(deps, { identifier, reason: 'Leaked.', by: onBox('admin') }));
  expect(revoking.message).toContain(`Key ${identifier} is expired`);
  expect(keys.map((key) => stored(key.identifier))).toEqual(['Active', 'Active', 'Active']);
  expect(checkDatabase(deps.db).faults).toEqual([]);
});

test('a key is Active, expired, or stored as expired exactly when a model says so, however the clock jumps', async () => {
  const { clock, deps, verify } = await world(0);
  const jumps = [60_000, 3_600_000, DAY_MS, 200 * DAY_MS, 20 * 365 * DAY_MS];
  const step = fc.record({
    waitMs: fc.oneof(fc.constantFrom(0, 1, SETTLE_MS - 1, SETTLE_MS), fc.nat(DAY_MS / 4)),
    jumpMs: fc.oneof(
      { weight: 4, arbitrary: fc.constant(0) },
      { weight: 1, arbitrary: fc.constantFrom(...jumps, ...jumps.map((ms) => -ms)) },
    ),
    isStoring: fc.boolean(),
  });
  const lives = fc.array(fc.integer({ min: 600_000, max: 3 * DAY_MS }), { minLength: 3, maxLength: 3 });
  let id = 1;
  await fc.assert(
    fc.asyncProperty(lives, fc.array(step, { maxLength: 40 }), async (livesMs, steps) => {
      insertProfile(deps.db, { id: ++id });
      const model = [];
      for (const lifeMs of livesMs) {
        const expiresAtMs = clock.nowMs() + lifeMs;
        model.push({ ...(await issue(deps, { profile: `user${id}` }, { expiresAtMs })), expiresAtMs, isStored: false });
      }
      // The clock is settled now, whatever happened in earlier rounds.
      clock.settledMs();
      clock.advance(SETTLE_MS);
      const settled = createClockModel(clock);
      for (const { waitMs, jumpMs, isStoring } of steps) {
        clock.advance(waitMs);
        clock.jump(jumpMs);
        if (isStoring) {
          expireKeys(deps);
          const settledMs = settled.see();
          for (const key of model) if (settledMs !== null && settledMs >= key.expiresAtMs) key.isStored = true;
        }
        for (const { identifier, secret, expiresAtMs, isStored } of model) {
          const isExpired = isStored || clock.nowMs() >= expiresAtMs;
          expect(readKey(deps.db, identifier).state).toBe(isStored ? 'expired' : 'Active');
          expect(showKey(deps, identifier).state).toBe(isExpired ? 'expired' : 'Active');
          expect(verify(secret) === null).toBe(isExpired);
          expect(keyHistory(deps, identifier).at(-1)?.event === 'expired').toBe(isExpired);
        }
      }
      expect(checkDatabase(deps.db).faults).toEqual([]);
    }),
    { numRuns: rounds(30) },
  );
}, 60_000);
