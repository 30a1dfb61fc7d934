import { describe, expect, test } from 'bun:test';
import { copyFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { openBare, type Sqlite } from '../../../shared/db/connect.ts';
import { KEY_STATES } from '../../../shared/db/key-columns.ts';
import { MIGRATIONS } from '../../../shared/db/migrations.ts';
import { withTables } from '../../../shared/db/tables.ts';
import { openDatabase } from '../../../shared/db-files/open.ts';
import { createDeps } from '../../../shared/deps.ts';
import { keyHistory, showKey } from '../../../shared/keys/view.ts';
import { checkDatabase } from '../../../shared/upkeep/check.ts';
import { closeUsage, openUsage } from '../../../shared/usage/usage.ts';
import { countUsage } from '../../../shared/usage/usage-counter.ts';
import { keyUsage } from '../../../shared/usage/usage-view.ts';
import { PROJECT } from '../../support/cli.ts';
import { exportText } from '../../support/import.ts';
import { startServerProcess } from '../../support/machine/server-process.ts';
import { readingOf } from '../../support/reading.ts';
import { tempFolder, testClock, testConfig } from '../../support/world.ts';

// test/fixtures/first-schema.db is a database as the first version left it (test/support/storage/make-first-schema.ts).

const FIXTURE = join(PROJECT, 'test/fixtures/first-schema.db');

/** The secret of its Active key, which is good for nothing else. */
const SECRET = 'plk_ToxWbeC0_gmWx5kxMp5oj7EXXfhcMujb7ZGhPJKsS1JhBq0';

/** Every row of these tables, in the columns that the fixture has. */
function rowsOf(sqlite: Sqlite, tables: readonly string[]): Record<string, unknown[]> {
  return Object.fromEntries(
    tables.map((table) => {
      const columns = old.query(`SELECT name FROM pragma_table_info('${table}')`).all() as { name: string }[];
      const names = columns.map(({ name }) => `"${name}"`).join(', ');
      const rows = sqlite.query(`SELECT ${names} FROM ${table}`).all();
      return [table, rows.map((row) => JSON.stringify(row)).sort()];
    }),
  );
}

/** Every table, but the list of migrations. */
function tablesOf(sqlite: Sqlite): string[] {
  const tables = sqlite.query("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'").all();
  return (tables as { name: string }[]).map(({ name }) => name).filter((name) => name !== 'migrations');
}

const old = openBare(FIXTURE, 'read');
const TABLES = tablesOf(old);
const BEFORE = rowsOf(old, TABLES);

/** A copy of the fixture, upgraded as `serve` does it. */
function upgraded() {
  const path = join(tempFolder(), 'profiles.db');
  copyFileSync(FIXTURE, path);
  const copies: string[] = [];
  const db = withTables(openDatabase(path, 'serve', (copy) => copies.push(copy)));
  const clock = testClock(Date.parse('2026-01-01T12:00:00Z'));
  return { path, copies, deps: { ...createDeps(db, testConfig({ DATABASE_PATH: path })), clock } };
}

test('the fixture is of the first schema, with keys in every state that it knew, an erased profile and an approval under way', () => {
  expect(old.query('SELECT count(*) AS n FROM migrations').get()).toEqual({ n: 1 });
  const states = old.query('SELECT DISTINCT state FROM api_keys').all() as { state: string }[];
  expect(states.map(({ state }) => state).sort()).toEqual(KEY_STATES.filter((state) => state !== 'suspended').sort());
  expect(BEFORE.profiles?.length).toBe(49);
  expect(BEFORE.key_attempts?.join()).toContain('"result":"open"');
  expect(BEFORE.key_events?.join()).toContain('"event":"erased"');
});

describe('a database of the first version, upgraded', () => {
  test('holds every row as it was, is sound, and was copied aside before', () => {
    const { deps, copies } = upgraded();
    expect(rowsOf(deps.db.$client, TABLES)).toEqual(BEFORE);
    expect(deps.db.$client.query('SELECT count(*) AS n FROM migrations').get()).toEqual({ n: MIGRATIONS.length });
    expect(checkDatabase(deps.db)).toMatchObject({ faults: [], profiles: 49, keys: BEFORE.api_keys?.length as number });
    expect(copies).toHaveLength(1);
    const copy = openBare(copies[0] as string, 'read');
    expect(rowsOf(copy, TABLES)).toEqual(BEFORE);
    expect(tablesOf(copy)).toEqual(TABLES);
    copy.close();
    deps.db.$client.close();
  });

  test('tells who acted before actors had kinds: the operator on the box, and the service where a key expired', () => {
    const { deps } = upgraded();
    const sqlite = deps.db.$client;
    const kinds = sqlite
      .query('SELECT DISTINCT by, by_kind, event = ? AS expired FROM key_events ORDER BY 1')
      .all('expired');
    expect(kinds).toEqual([
      { by: 'admin', by_kind: 'operator', expired: 0 },
      { by: 'operator', by_kind: 'operator', expired: 0 },
      { by: 'owner', by_kind: 'operator', expired: 0 },
      { by: 'system', by_kind: 'service', expired: 1 },
    ]);
    expect(sqlite.query('SELECT DISTINCT by, by_kind FROM key_attempts').all()).toEqual([
      { by: 'admin', by_kind: 'operator' },
    ]);
    const [{ by } = { by: '' }] = keyHistory(deps, SECRET.slice(4, 12));
    expect(by).toBe('owner (on the box)');
    expect(() => sqlite.run("UPDATE key_events SET by_kind = 'admin', detail = NULL")).toThrow('append-only');
    deps.db.$client.close();
  });

  test('has its keys: the secret works, and what is new can be done with them', async () => {
    const { deps, path } = upgraded();
    const identifier = SECRET.slice(4, 12);
    expect(readingOf(deps).verify(SECRET)?.identifier).toBe(identifier);
    expect(showKey(deps, identifier)).toMatchObject({ state: 'Active', name: 'Renamed' });
    const usage = openUsage(path, deps.clock, () => undefined);
    countUsage(usage.counter, { identifier }, null);
    closeUsage(usage);
    expect(keyUsage(deps, identifier, 1).days[0]?.ok).toBe(1);
    const lines = (await exportText(deps)).trimEnd().split('\n');
    expect(lines).toHaveLength(49);
    for (const line of lines) expect(line).toContain('"showOnLeaderboard":true,');
    deps.db.$client.close();
  });

  test('is served', async () => {
    const folder = tempFolder();
    const DATABASE_PATH = join(folder, 'profiles.db');
    copyFileSync(FIXTURE, DATABASE_PATH);
    const server = await startServerProcess({ DATABASE_PATH });
    const answer = await fetch(`${server.url}/api/lookup/username/Ada`, {
      headers: { Authorization: `Bearer ${SECRET}` },
    });
    expect(await answer.json()).toMatchObject({ id: 7, username: 'Ada' });
    expect(await server.end()).toBe(0);
    expect(readdirSync(folder).filter((name) => name.includes('.before-schema-2-'))).toHaveLength(1);
  });
});
