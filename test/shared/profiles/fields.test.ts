import { expect, test } from 'bun:test';
import { exportProfile } from '../../../shared/profiles/export.ts';
import { FIELDS, PUBLIC_FIELDS } from '../../../shared/profiles/fields.ts';
import { parseLine } from '../../../shared/profiles/line.ts';
import { textOf } from '../../../shared/profiles/record.ts';
import { importLines } from '../../support/profiles.ts';
import { readingOf } from '../../support/reading.ts';
import { testDeps } from '../../support/world.ts';

test('an export line has all fields in their order, an import accepts all of them, and clients get the public ones', async () => {
  const deps = testDeps();
  await importLines(deps, [{ id: 1, username: 'ada' }]);
  const line = textOf(exportProfile(deps.db, { username: 'ada' }));
  expect(Object.keys(JSON.parse(line))).toEqual(Object.keys(FIELDS));
  expect(parseLine(line)).toMatchObject({ id: 1, dropped: [] });
  const found = readingOf(deps).lookup.one('profile', 'uid', '1');
  expect(Object.keys(JSON.parse(found?.body ?? '{}'))).toEqual(PUBLIC_FIELDS);
});
