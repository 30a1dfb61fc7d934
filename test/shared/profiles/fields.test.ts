import { expect, test } from 'bun:test';
import { getTableColumns } from 'drizzle-orm';
import type { SQLiteTable } from 'drizzle-orm/sqlite-core';
import { links, profiles } from '../../../shared/db/schema/profiles.ts';
import { parseLine } from '../../../shared/profiles/edit/line.ts';
import { exportProfile } from '../../../shared/profiles/export.ts';
import { COLUMN_LIST, FIELD_LIST, LINK_LIST } from '../../../shared/profiles/field-values.ts';
import { importLines } from '../../support/import.ts';
import { testDeps } from '../../support/world.ts';

// The tables of fields and the schema of the database agree, and so do the fields of a line that comes in and one that goes out.

/** Name, type and whether it may be null, of each column of a table, ordered by name. */
function columnsOf(table: SQLiteTable): unknown[] {
  const columns = Object.values(getTableColumns(table));
  return columns.map((column) => [column.name, column.getSQLType(), !column.notNull]).sort();
}

const asColumn = ({ column, form, nullable }: { column: string; form: string; nullable: boolean }) => [
  column,
  form === 'text' || form === 'json' ? 'text' : 'integer',
  nullable,
];

test('every column of profiles but a few that no line sets is a field, with its type, and every field of one column is there', () => {
  const own = [
    ['address_changes', 'integer', false],
    ['generation', 'integer', false],
    ['written_at', 'integer', false],
  ];
  expect([...COLUMN_LIST.map(asColumn), ...own].sort()).toEqual(columnsOf(profiles) as never);
});

test('every column of links is a field of a link, but the profile and the position', () => {
  const own = [
    ['position', 'integer', false],
    ['profile_id', 'integer', false],
  ];
  expect([...LINK_LIST.map(asColumn), ...own].sort()).toEqual(columnsOf(links) as never);
});

test('a field that hides another is a flag of its own', () => {
  const flags = COLUMN_LIST.filter(({ form }) => form === 'flag').map(({ column }) => column);
  for (const { shownIf } of COLUMN_LIST) if (shownIf !== undefined) expect(flags).toContain(shownIf);
});

test('an export line has every field in the order of the table, and an import knows each of them', async () => {
  const deps = testDeps();
  await importLines(deps, [{ id: 1, username: 'ada' }]);
  const line = exportProfile(deps.db, { username: 'ada' });
  expect(Object.keys(JSON.parse(line))).toEqual(FIELD_LIST.map(({ name }) => name));
  expect(parseLine(line, false)).toMatchObject({ unknown: [] });
});

test('an export line stays JSON where a stored time is damaged, and an import would refuse it', async () => {
  const deps = testDeps();
  await importLines(deps, [{ id: 1, username: 'ada' }]);
  deps.db.$client.run('UPDATE profiles SET created_at = 9007199254740991');
  const line = exportProfile(deps.db, { username: 'ada' });
  expect(JSON.parse(line)).toMatchObject({ id: 1, createdAt: null });
  expect(parseLine(line, false)).toMatchObject({ reason: expect.stringContaining('createdAt must be') });
});
