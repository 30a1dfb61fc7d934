import { expect, test } from 'bun:test';
import type { KeyState } from '../../../shared/db/schema.ts';
import type { ListInput } from '../../../shared/keys/fields.ts';
import { moveAndNotify } from '../../../shared/keys/life.ts';
import { countOlder, queuePlace } from '../../../shared/keys/list.ts';
import { OPERATIONS, perform } from '../../../shared/operations.ts';
import { keyIn, keysListed, request, STATES_OF_ONE } from '../../support/keys.ts';
import { insertProfile } from '../../support/profiles.ts';
import { onBox, testClock, testDeps } from '../../support/world.ts';

// The pages of a list of keys.

/** Keys of every state, of several profiles, two of each requested in the same millisecond. */
async function world() {
  const clock = testClock();
  const deps = { ...testDeps({ clock }), clock };
  for (const id of [1, 2, 3, 4, 5, 6]) {
    insertProfile(deps.db, { id });
    for (const state of STATES_OF_ONE) await keyIn(state, deps, `user${id}`);
    if (id % 2 === 0) clock.advance(1);
  }
  clock.advance(1);
  const page = (input: ListInput) => perform(deps, onBox('operator'), OPERATIONS.list, input);
  const pagesOf = async (input: ListInput, limit: number) => {
    const found: string[][] = [];
    for (let after: string | undefined; ; ) {
      const { keys, next } = await page({ ...input, limit, after });
      found.push(keys.map(({ identifier }) => identifier));
      expect(found.length).toBeLessThan(100);
      if (next === null) return found;
      after = next;
    }
  };
  return { deps, clock, page, pagesOf };
}

const { deps, clock, page, pagesOf } = await world();

test('the pages together are the whole list, for every filter and length', async () => {
  const filters: ListInput[] = [
    {},
    ...STATES_OF_ONE.map((state) => ({ states: [state] })),
    { states: ['Active', 'expired'] },
    { states: ['pending', 'rejected'] },
    { profile: 'user3' },
    { profile: 'user3', states: ['expired'] },
  ];
  for (const filter of filters) {
    const whole = keysListed(deps, filter).map(({ identifier }) => identifier);
    expect(whole.length).toBeGreaterThan(0);
    for (const limit of [1, 2, 5, 50]) {
      const found = await pagesOf(filter, limit);
      expect([filter, limit, found.flat()]).toEqual([filter, limit, whole]);
      expect(found.slice(0, -1).every(({ length }) => length === limit)).toBe(true);
    }
  }
});

test('a cursor with the identifier of another profile’s key reveals nothing about that key', async () => {
  const own = { kind: 'owner', name: 'owner', profileId: 1 } as const;
  const [others] = (await page({ profile: 'user2', states: ['pending'] })).keys;
  const listed = (place: string) => perform(deps, own, OPERATIONS.list, { limit: 50, after: place });
  const at = Date.parse(others?.requestedAt ?? '');
  expect(await listed(`1-${at}-${others?.identifier}`)).toEqual(await listed(`1-${at}-00000000`));
});

test('the next page skips no key if keys are decided or requested in between', async () => {
  const states: KeyState[] = ['pending'];
  const whole = keysListed(deps, { states }).map(({ identifier }) => identifier);
  const first = await page({ states, limit: 2 });
  for (const { identifier } of first.keys) moveAndNotify(deps, 'withdraw', { identifier, by: onBox('ada') });
  clock.advance(1);
  const late = await request(deps, { profile: 'user1' });
  const rest = await page({ states, limit: 50, after: first.next ?? '' });
  expect(rest.keys.map(({ identifier }) => identifier)).toEqual([...whole.slice(2), late]);
});

test('the previous and the next request in the queue skip those being approved, and are still found after a decision', async () => {
  const neighbours = async (identifier = '') => {
    const { previous, next } = queuePlace(deps, identifier);
    return [previous, next];
  };
  const [first, second, third, ...others] = (await page({ states: ['pending'] })).keys.map(
    ({ identifier }) => identifier,
  );
  expect([await neighbours(first), await neighbours(second)]).toEqual([
    [null, second ?? ''],
    [first ?? '', third ?? ''],
  ]);
  const { finish } = await perform(deps, onBox('operator'), OPERATIONS.approve, { identifier: second ?? '' });
  expect([await neighbours(first), await neighbours(third)]).toEqual([
    [null, third ?? ''],
    [first ?? '', others[0] ?? null],
  ]);
  await finish();
  expect(await neighbours(second)).toEqual([first ?? '', third ?? '']);
  for (const identifier of [third ?? '', ...others]) moveAndNotify(deps, 'withdraw', { identifier, by: onBox('ada') });
  expect([await neighbours(first), await neighbours(third)]).toEqual([
    [null, null],
    [first ?? '', null],
  ]);
});

test('only older requests that are still pending are counted as ahead', async () => {
  const clock = testClock();
  const access = testDeps({ clock });
  for (let n = 0; n < 4; n++) insertProfile(access.db, { id: n + 1 });
  const identifiers: string[] = [];
  for (let n = 0; n < 4; n++) {
    identifiers.push(await request(access, { profile: `user${n + 1}` }));
    clock.advance(1_000);
  }
  const counts = () => identifiers.map((identifier) => countOlder(access, identifier));
  expect(counts()).toEqual([0, 1, 2, 3]);
  moveAndNotify(access, 'reject', { identifier: identifiers[1] as string, reason: 'No.', by: onBox('root') });
  expect([countOlder(access, identifiers[2] as string), countOlder(access, identifiers[3] as string)]).toEqual([1, 2]);
});
