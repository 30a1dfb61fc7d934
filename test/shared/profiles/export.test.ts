import { describe, expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { openDatabase } from '../../../shared/files/open.ts';
import { exportProfile, exportProfiles } from '../../../shared/profiles/export.ts';
import { FIELDS, PUBLIC_FIELDS } from '../../../shared/profiles/fields.ts';
import { importProfiles } from '../../../shared/profiles/import/import.ts';
import { parseLine } from '../../../shared/profiles/line.ts';
import { textOf } from '../../../shared/profiles/record.ts';
import { PROJECT } from '../../support/cli.ts';
import { exportText, IMPORT_OPTIONS, importLines } from '../../support/profiles.ts';
import { ANY_CHARACTER, rounds } from '../../support/rounds.ts';
import { readingOf } from '../../support/storage.ts';
import { testDeps } from '../../support/world.ts';

const SAMPLE = readFileSync(join(PROJECT, 'shared/sample/profiles.jsonl'));

const linesOf = (text: string): object[] =>
  text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));

describe('an export after an import', () => {
  test.each([false, true])(
    'has all that was in the sample, and itself returns the same bytes (strict %p)',
    async (strict) => {
      const [from, to] = [testDeps(), testDeps()];
      const options = { ...IMPORT_OPTIONS, strict };
      expect(await importProfiles(from, [SAMPLE], options)).toMatchObject({ imported: 50, refused: [], dropped: [] });
      const first = await exportText(from);
      expect(linesOf(first)).toMatchObject(linesOf(SAMPLE.toString()));
      await importProfiles(to, [Buffer.from(first)], options);
      expect(await exportText(to)).toBe(first);
    },
  );

  test('returns the bytes of the export that was imported, for any profiles', async () => {
    const [from, to] = [testDeps(), testDeps()];
    const text = fc.string({ unit: ANY_CHARACTER, maxLength: 20 });
    const count = fc.integer({ min: 0, max: Number.MAX_SAFE_INTEGER });
    const line = fc.record(
      {
        id: fc.integer({ min: 1, max: 1_000_000 }),
        username: fc.string({ minLength: 1, maxLength: 10 }),
        aliases: fc.array(text, { maxLength: 2 }),
        authId: fc.option(text),
        displayName: text,
        badges: fc.array(fc.record({ name: text, enabled: fc.boolean() }), { maxLength: 3 }),
        assets: fc.dictionary(text, fc.option(text)),
        customize: fc.dictionary(text, fc.jsonValue()),
        discordID: fc.option(text),
        viewsCount: count,
        showFollowersCount: fc.boolean(),
        showOnLeaderboard: fc.boolean(),
        links: fc.array(
          fc.record(
            { id: text, name: text, link: text, title: text, clicksCount: count },
            { requiredKeys: ['id', 'name', 'link'] },
          ),
          { maxLength: 3 },
        ),
      },
      { requiredKeys: ['id', 'username'] },
    );
    await fc.assert(
      fc.asyncProperty(fc.array(line, { minLength: 10, maxLength: 10 }), async (given) => {
        await importLines(from, given);
        const first = await exportText(from);
        // The export is empty until a line has been valid, and the import of a file without lines is refused.
        if (first === '') return;
        await importLines(to, first.trimEnd().split('\n'));
        expect(await exportText(to)).toBe(first);
      }),
      { numRuns: rounds(5) },
    );
  });
});

test('an export is one snapshot, however slow its reader', async () => {
  const deps = testDeps();
  const long = 'x'.repeat(50_000);
  await importLines(
    deps,
    Array.from({ length: 20 }, (_, i) => ({ id: i + 1, username: `u${i}`, displayName: long })),
  );
  const other = openDatabase(deps.config.databasePath, 'use');
  // After an erasure the import waits this long for readers of the write-ahead log, and the export is a reader that does not
  // finish.
  other.$client.run('PRAGMA busy_timeout = 100');
  let text = '';
  let chunks = 0;
  await exportProfiles(deps.db, async (chunk) => {
    if (chunks++ === 0)
      await importLines({ ...deps, db: other }, [
        { id: 20, deleted: true },
        { id: 21, username: 'late' },
      ]);
    text += chunk;
  });
  other.$client.close();
  expect(chunks).toBeGreaterThan(3);
  expect(
    text
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line).id),
  ).toEqual(Array.from({ length: 20 }, (_, i) => i + 1));
  expect((await exportText(deps)).trimEnd().split('\n').length).toBe(20);
});

test('an export whose reader fails leaves the connection usable', async () => {
  const deps = testDeps();
  await importLines(deps, [
    { id: 1, username: 'a' },
    { id: 2, username: 'b' },
  ]);
  const failing = exportProfiles(deps.db, () => Promise.reject(new Error('gone')));
  expect(await failing.catch((error: Error) => error.message)).toBe('gone');
  expect(await importLines(deps, [{ id: 3, username: 'c' }])).toMatchObject({ imported: 1 });
});

test('a single profile, found by username or alias, is a line of the export', async () => {
  const deps = testDeps();
  await importProfiles(deps, [SAMPLE], IMPORT_OPTIONS);
  expect((await exportText(deps)).split('\n')).toContain(textOf(exportProfile(deps.db, { username: 'LOVELACE' })));
  expect(exportProfile(deps.db, { username: 'ada' })).toEqual(exportProfile(deps.db, { username: 'lovelace' }));
  for (const name of ['nobody at all', '', 'a/b']) {
    expect(() => exportProfile(deps.db, { username: name })).toThrow(
      'There is no profile with this username or alias.',
    );
  }
});

test('the sample contains Ada as the documentation shows her', () => {
  const ada = SAMPLE.toString()
    .split('\n')
    .map((line) => JSON.parse(line || '{}'))
    .find(({ id }) => id === 7);
  expect(ada).toMatchObject({ username: 'Ada', authId: 'auth0|ada', email: 'ada@example.org', banned: false });
  expect(ada.aliases[0]).toBe('lovelace');
});

test('an export line has all fields in their order, an import accepts all of them, and clients get the public ones', async () => {
  const deps = testDeps();
  await importLines(deps, [{ id: 1, username: 'ada' }]);
  const line = textOf(exportProfile(deps.db, { username: 'ada' }));
  expect(Object.keys(JSON.parse(line))).toEqual(Object.keys(FIELDS));
  expect(parseLine(line)).toMatchObject({ id: 1, dropped: [] });
  const found = readingOf(deps).lookup.one('profile', 'uid', '1');
  expect(Object.keys(JSON.parse(found?.body ?? '{}'))).toEqual(PUBLIC_FIELDS);
});
