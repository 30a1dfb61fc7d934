import { expect, test } from 'bun:test';
import { getTableColumns } from 'drizzle-orm';
import type { SQLiteTable } from 'drizzle-orm/sqlite-core';
import { links, profiles } from '../../../shared/db/schema/profiles.ts';
import { parseLine } from '../../../shared/profiles/edit/line.ts';
import { exportProfile } from '../../../shared/profiles/export.ts';
import { COLUMN_LIST, FIELD_LIST, LINK_LIST } from '../../../shared/profiles/field-values.ts';
import { importLines } from '../../support/import.ts';
import { testDeps } from '../../support/world.ts';

// The tables of fields agree with the schema of the database, and imported lines have the same fields as exported ones.

/** Name, type and nullability of each column of a table, ordered by name. */
function columnsOf(table: SQLiteTable): unknown[] {
  const columns = Object.values(getTableColumns(table));
  return columns.map((column) => [column.name, column.getSQLType(), !column.notNull]).sort();
}

const asColumn = ({ column, form, nullable }: { column: string; form: string; nullable: boolean }) => [
  column,
  form === 'text' || form === 'json' ? 'text' : 'integer',
  nullable,
];

test('the fields of profiles match its columns in name, type and nullability, except three columns that imports can’t set', () => {
  const own = [
    ['address_changes', 'integer', false],
    ['generation', 'integer', false],
    ['written_at', 'integer', false],
  ];
  expect([...COLUMN_LIST.map(asColumn), ...own].sort()).toEqual(columnsOf(profiles) as never);
});

test('the fields of links match its columns, except profile_id and position', () => {
  const own = [
    ['position', 'integer', false],
    ['profile_id', 'integer', false],
  ];
  expect([...LINK_LIST.map(asColumn), ...own].sort()).toEqual(columnsOf(links) as never);
});

test('a field named by another’s shownIf is a flag', () => {
  const flags = COLUMN_LIST.filter(({ form }) => form === 'flag').map(({ column }) => column);
  for (const { shownIf } of COLUMN_LIST) if (shownIf !== undefined) expect(flags).toContain(shownIf);
});

test('an export line has all fields in the order of FIELD_LIST, and an import accepts all of them', async () => {
  const deps = testDeps();
  await importLines(deps, [{ id: 1, username: 'ada' }]);
  const line = exportProfile(deps.db, { username: 'ada' });
  expect(Object.keys(JSON.parse(line))).toEqual(FIELD_LIST.map(({ name }) => name));
  expect(parseLine(line, false)).toMatchObject({ unknown: [] });
});

test('a corrupt stored time is exported as null, which an import refuses', async () => {
  const deps = testDeps();
  await importLines(deps, [{ id: 1, username: 'ada' }]);
  deps.db.$client.run('UPDATE profiles SET created_at = 9007199254740991');
  const line = exportProfile(deps.db, { username: 'ada' });
  expect(JSON.parse(line)).toMatchObject({ id: 1, createdAt: null });
  expect(parseLine(line, false)).toMatchObject({ reason: expect.stringContaining('createdAt must be') });
});
