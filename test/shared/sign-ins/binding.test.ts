import { expect, test } from 'bun:test';
import { isSameBinding, readBinding } from '../../../shared/sign-ins/binding.ts';
import { onBox } from '../../support/actors.ts';
import { eraseProfile } from '../../support/erase.ts';
import { exportText, importLines } from '../../support/import.ts';
import { testDeps } from '../../support/world.ts';

const ADA = { id: 1, username: 'ada', email: 'ada@example.org', viewsCount: 1 };

/** A database with Ada, and a function that reads her row's generation. */
async function world() {
  const deps = testDeps();
  await importLines(deps, [ADA]);
  const generation = () => readBinding(deps.db, 1)?.generation ?? null;
  return { deps, generation };
}

test('updates keep the generation of a row, in either mode', async () => {
  const { deps, generation } = await world();
  const first = generation();
  expect(Number.isSafeInteger(first)).toBe(true);
  expect(first).not.toBe(0);
  await importLines(deps, [{ ...ADA, viewsCount: 2 }]);
  await importLines(deps, [{ ...ADA, username: 'lovelace', displayName: 'Ada', authId: 'a|1' }]);
  await importLines(deps, [{ id: 1, viewsCount: 3, customize: { bio: 'x' } }], { merge: true });
  await importLines(deps, [{ ...ADA, email: 'new@example.org' }], { strict: true });
  expect(generation()).toBe(first);
});

test('an inserted row gets a new generation in any mode, even in the batch that erased the previous row', async () => {
  const { deps, generation } = await world();
  const seen = [generation()];
  for (const options of [{}, { strict: true }, { merge: true }]) {
    eraseProfile(deps, 'ada', onBox('operator'));
    expect(generation()).toBeNull();
    await importLines(deps, [ADA], options);
    seen.push(generation());
    await importLines(deps, [{ id: 1, deleted: true }, ADA], options);
    seen.push(generation());
  }
  await importLines(deps, [{ id: 2, username: 'bob' }]);
  seen.push(readBinding(deps.db, 2)?.generation ?? null);
  expect(new Set(seen).size).toBe(8);
});

test('exports do not contain generations', async () => {
  const { deps, generation } = await world();
  const text = await exportText(deps);
  expect(text).not.toContain('generation');
  expect(text).not.toContain(String(Math.abs(generation() ?? 0)));
});

test('a binding identifies a profile, its row and its address', () => {
  const one = { profileId: 1, generation: 7, addressHash: Buffer.from([1, 2]) };
  expect(isSameBinding(one, { ...one, addressHash: Buffer.from([1, 2]) })).toBe(true);
  for (const other of [{ profileId: 2 }, { generation: 8 }, { addressHash: Buffer.from([1, 3]) }]) {
    expect(isSameBinding(one, { ...one, ...other })).toBe(false);
  }
});
