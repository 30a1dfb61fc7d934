import { expect, test } from 'bun:test';
import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { AppError } from '../../../../shared/errors.ts';
import { importProfiles } from '../../../../shared/profiles/import/import.ts';
import { exportText, IMPORT_OPTIONS, importLines, jsonLines, namesById } from '../../../support/profiles.ts';
import { refusal, testDeps } from '../../../support/world.ts';

const OPTIONS = { ...IMPORT_OPTIONS, strict: true };

test('one bad line prevents the import; all bad lines are reported', async () => {
  const deps = testDeps();
  await importLines(deps, [{ id: 1, username: 'before' }]);
  const before = await exportText(deps);
  const lines = [{ id: 1, deleted: true }, 'nonsense', { id: 2, username: 'two' }, { id: 3 }];
  const result = await importLines(deps, lines, { strict: true });
  expect(result).toMatchObject({ imported: 0, deleted: 0, refused: [{ line: 2 }, { line: 4 }] });
  expect(await exportText(deps)).toBe(before);
});

test('one conflict at the very end prevents the import', async () => {
  const deps = testDeps();
  await importLines(deps, [{ id: 1, username: 'ada' }]);
  const lines = [
    ...Array.from({ length: 2_000 }, (_, i) => ({ id: i + 2, username: `u${i}` })),
    { id: 9_999, username: 'ADA' },
  ];
  const { refused } = await importLines(deps, lines, { strict: true });
  expect(refused).toMatchObject([{ line: 2_001, reason: 'the name "ADA" is held by profile 1' }]);
  expect(await namesById(deps)).toEqual({ 1: ['ada'] });
});

test('a line can use a name that another profile gives up thousands of lines later', async () => {
  const deps = testDeps();
  const count = 2_000;
  const named = (shift: number) =>
    Array.from({ length: count }, (_, i) => ({
      id: i + 1,
      username: `n${(i + shift) % count}`,
      authId: `a${(i + shift) % count}`,
    }));
  await importLines(deps, named(0), { strict: true });
  expect(await importLines(deps, named(1), { strict: true })).toMatchObject({ imported: count, refused: [] });
  expect((await namesById(deps))[count]).toEqual(['n0']);
});

test('a merging line without its profile prevents the import', async () => {
  const deps = testDeps();
  const { refused } = await importLines(
    deps,
    [
      { id: 1, username: 'a' },
      { id: 2, viewsCount: 1 },
    ],
    {
      strict: true,
      merge: true,
    },
  );
  expect(refused).toMatchObject([{ line: 2 }]);
  expect(await exportText(deps)).toBe('');
});

test('an import that is interrupted changes nothing, and leaves no transaction open', async () => {
  const deps = testDeps();
  const path = join(deps.folder, 'in.jsonl');
  writeFileSync(path, jsonLines({ id: 1, username: 'one' }));
  const onProgress = () => {
    throw new AppError('cancelled');
  };
  expect((await refusal(importProfiles(deps, path, { ...OPTIONS, onProgress }))).code).toBe('cancelled');
  expect([deps.db.$client.inTransaction, await exportText(deps)]).toEqual([false, '']);
});

test('a file is read directly, a stream from a copy; neither leaves anything behind', async () => {
  const deps = testDeps();
  const path = join(deps.folder, 'in.jsonl');
  writeFileSync(path, jsonLines({ id: 1, username: 'one' }));
  const before = readdirSync(deps.folder).sort();
  expect(await importProfiles(deps, path, OPTIONS)).toMatchObject({ imported: 1 });
  async function* source() {
    yield Buffer.from(jsonLines({ id: 2, username: 'two' }));
    // The copy has no name even while it is written.
    expect(readdirSync(deps.folder).sort()).toEqual(before);
    yield Buffer.from(jsonLines({ id: 3, username: 'three' }));
  }
  expect(await importProfiles(deps, source(), OPTIONS)).toMatchObject({ imported: 2 });
  expect(readdirSync(deps.folder).sort()).toEqual(before);
});

test('a truncated stream changes nothing', async () => {
  const deps = testDeps();
  async function* source() {
    yield Buffer.from(jsonLines({ id: 2, username: 'two' }));
    throw new Error('broken');
  }
  await expect(importProfiles(deps, source(), OPTIONS)).rejects.toThrow('broken');
  expect(await exportText(deps)).toBe('');
});
