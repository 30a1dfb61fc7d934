import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import type { Person } from '../../../shared/actor.ts';
import { DAY_MS } from '../../../shared/clock.ts';
import { exitCodeOf, refusalOf } from '../../../shared/errors.ts';
import { editKey, moveAndNotify, requestKey } from '../../../shared/keys/life.ts';
import { DESCRIPTION } from '../../support/keys.ts';
import { insertProfile } from '../../support/profiles.ts';
import { rounds } from '../../support/rounds.ts';
import { onBox, refusal, testClock, testDeps } from '../../support/world.ts';

const OWNER = { kind: 'owner', name: 'owner', profileId: 1 } as const;
const HOUR_MS = 3_600_000;

function world() {
  const clock = testClock();
  const deps = testDeps({ clock });
  insertProfile(deps.db, { id: 1 });
  insertProfile(deps.db, { id: 2 });
  const fields = { name: 'Bot', description: DESCRIPTION, permissions: ['api.lookup' as const] };
  /** Requests a key and frees its slot. */
  const ask = (by: Person = OWNER) => {
    const profile = by.kind === 'owner' ? `user${by.profileId}` : 'user1';
    const { identifier } = requestKey(deps, { ...fields, profile, by });
    moveAndNotify(deps, 'withdraw', { identifier, by });
  };
  return { clock, deps, ask };
}

describe('five keys a day', () => {
  test('may be requested by an owner; the sixth is refused until the next day (UTC) begins', async () => {
    const { clock, ask } = world();
    clock.advance(22 * HOUR_MS + 1);
    for (let turn = 0; turn < 5; turn++) ask();
    const error = await refusal(ask);
    expect([error.code, error.details.retryAfterSeconds]).toEqual(['too_many_requests', 7200]);
    expect(error.message).toContain('Try again after 2026-01-02T00:00:00.000Z.');
    clock.advance(2 * HOUR_MS - 2);
    expect((await refusal(ask)).details.retryAfterSeconds).toBe(1);
    clock.advance(1);
    ask();
  });

  test('are the limit, which is a 429 with Retry-After, and the exit code for trying again later', () => {
    const { status, headers } = refusalOf('too_many_requests');
    expect([status, headers?.({ retryAfterSeconds: 7200 })]).toEqual([429, { 'Retry-After': '7200' }]);
    expect(exitCodeOf('too_many_requests')).toBe(75);
  });

  test('do not include requests by the operator, who has no limit, or for another profile', async () => {
    const { ask } = world();
    for (let turn = 0; turn < 7; turn++) ask(onBox('root'));
    for (let turn = 0; turn < 5; turn++) ask();
    expect((await refusal(ask)).code).toBe('too_many_requests');
    ask(onBox('root'));
    ask({ ...OWNER, profileId: 2 });
  });

  test('are the limit at any times and for any mixture of people', () => {
    const step = fc.record({ hours: fc.integer({ min: 0, max: 30 }), isOwner: fc.boolean() });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 30 }), (steps) => {
        const { clock, deps, ask } = world();
        const asked = new Map<number, number>();
        for (const { hours, isOwner } of steps) {
          clock.advance(hours * 0.3 * HOUR_MS);
          const day = Math.floor(clock.nowMs() / DAY_MS);
          const before = asked.get(day) ?? 0;
          let isIn = true;
          try {
            ask(isOwner ? OWNER : onBox('root'));
          } catch {
            isIn = false;
          }
          expect(isIn).toBe(!isOwner || before < 5);
          if (isOwner && isIn) asked.set(day, before + 1);
        }
        deps.db.$client.close();
      }),
      { numRuns: rounds(2) },
    );
  });
});

test('an owner can rename keys at most five times a day, all keys together, and the operator any number of times', async () => {
  const { clock, deps } = world();
  const fields = { name: 'Bot', description: DESCRIPTION, permissions: ['api.lookup' as const], profile: 'user1' };
  const keys = [OWNER, OWNER].map((by) => requestKey(deps, { ...fields, by }).identifier);
  let turn = 0;
  const rename = (by: Person = OWNER) => {
    const identifier = keys[turn++ % 2] as string;
    return editKey(deps, { identifier, name: `Bot ${turn}`, by });
  };
  for (let times = 0; times < 7; times++) rename(onBox('root'));
  for (let times = 0; times < 5; times++) rename();
  const before = deps.db.$client.query('SELECT name FROM api_keys').values();
  const error = await refusal(() => rename());
  expect([error.code, error.message]).toEqual([
    'too_many_requests',
    'The profile user1 has renamed keys 5 times today, which is the daily limit. Try again after 2026-01-02T00:00:00.000Z.',
  ]);
  expect(deps.db.$client.query('SELECT name FROM api_keys').values()).toEqual(before);
  rename(onBox('root'));
  clock.advance(DAY_MS);
  rename();
});
