import { Database } from 'bun:sqlite';
import { expect } from 'bun:test';
import { readdirSync, readFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { is } from 'drizzle-orm';
import { getTableConfig, SQLiteTable } from 'drizzle-orm/sqlite-core';
import type { Clock } from '../../shared/clock.ts';
import type { Sqlite } from '../../shared/db/connect.ts';
import { migrate } from '../../shared/db/migrate.ts';
import { type LimitedKey, type Limits, openLimits } from '../../shared/limits/limits.ts';
import { prepareQuotaRows, readStored } from '../../shared/limits/stored.ts';
import { noteUsageSaved, prepareUsageRows, type Usage } from '../../shared/usage/usage.ts';

// The tables of a database and those of Drizzle's schema, in one form, by which a test sees that both agree.

type Column = { name: string; type: string; notNull: boolean; hasDefault: boolean };
type Reference = { columns: string[]; table: string; onDelete: string };
type Table = { name: string; columns: Column[]; indexes: string[]; references: Reference[]; checks: string[] };

const byName = <T extends { name: string }>(rows: T[]) => rows.sort((a, b) => (a.name < b.name ? -1 : 1));

/** The tables of a module that declares them with Drizzle. */
export function tablesIn(schema: Record<string, unknown>): Table[] {
  const tables = Object.values(schema).filter((value) => is(value, SQLiteTable));
  return byName(
    tables.map((table) => {
      const { name, columns, indexes, foreignKeys, checks, primaryKeys } = getTableConfig(table);
      const keys = primaryKeys.flatMap((key) => key.columns.map((column) => column.name));
      return {
        name,
        columns: byName(
          columns.map((column) => ({
            name: column.name,
            type: column.getSQLType().toUpperCase(),
            notNull: column.notNull || column.primary || keys.includes(column.name),
            hasDefault: column.hasDefault && column.default !== undefined,
          })),
        ),
        indexes: indexes.map(({ config }) => config.name).sort(),
        references: foreignKeys
          .map((key) => {
            const { columns: own, foreignTable } = key.reference();
            return {
              columns: own.map((column) => column.name),
              table: getTableConfig(foreignTable).name,
              onDelete: (key.onDelete ?? 'no action').toUpperCase(),
            };
          })
          .sort((a, b) => (`${a.columns}` < `${b.columns}` ? -1 : 1)),
        checks: checks.map((check) => check.name).sort(),
      };
    }),
  );
}

/** The tables of a database. Throws an error for one that is not STRICT. */
export function tablesOf(sqlite: Sqlite): Table[] {
  const tables = sqlite
    .query<{ name: string; strict: number; sql: string }, []>(
      `SELECT list.name, list.strict, made.sql FROM pragma_table_list AS list
        JOIN sqlite_schema AS made ON made.name = list.name WHERE list.type = 'table' AND list.name NOT LIKE 'sqlite_%'`,
    )
    .all();
  return byName(
    tables.map(({ name, strict, sql }) => {
      if (strict === 0) throw new Error(`${name} is not STRICT.`);
      const columns = sqlite
        .query<{ name: string; type: string; notnull: number; dflt_value: unknown; pk: number }, [string]>(
          'SELECT * FROM pragma_table_xinfo(?)',
        )
        .all(name);
      const indexes = sqlite
        .query<{ name: string }, [string]>("SELECT name FROM pragma_index_list(?) WHERE origin = 'c' ORDER BY name")
        .all(name);
      const references = sqlite
        .query<{ own: string; parent: string; on_delete: string }, [string]>(
          'SELECT "from" AS own, "table" AS parent, on_delete FROM pragma_foreign_key_list(?) ORDER BY own',
        )
        .all(name);
      return {
        name,
        columns: byName(
          columns.map((column) => ({
            name: column.name,
            type: column.type.toUpperCase(),
            notNull: column.notnull === 1 || column.pk > 0,
            hasDefault: column.dflt_value !== null,
          })),
        ),
        indexes: indexes.map((index) => index.name),
        references: references.map(({ own, parent, on_delete }) => ({
          columns: [own],
          table: parent,
          onDelete: on_delete,
        })),
        checks: [...sql.matchAll(/CONSTRAINT "(\w+)" CHECK/g)].map(([, check = '']) => check).sort(),
      };
    }),
  );
}

/** Expects that a database file is undamaged, and that no row refers to a missing one. */
export function expectSound(path: string): void {
  const sqlite = new Database(path);
  expect(sqlite.query('PRAGMA integrity_check').get()).toEqual({ integrity_check: 'ok' });
  expect(sqlite.query('PRAGMA foreign_key_check').all()).toEqual([]);
  sqlite.close();
}

/** Waits until no reader uses the write-ahead log, and empties it. Fails after 5 seconds. */
export async function emptyLogSoon(sqlite: Sqlite): Promise<void> {
  for (let turn = 0; sqlite.query('PRAGMA wal_checkpoint(TRUNCATE)').values()[0]?.[0] !== 0; turn++) {
    expect(turn).toBeLessThan(500);
    await Bun.sleep(10);
  }
}

/** Stores what was counted, as a server does once a second. */
export function saveUsage(sqlite: Sqlite, usage: Usage): void {
  prepareUsageRows(sqlite)(usage.unsaved);
  noteUsageSaved(usage);
}

/** Limits of which nothing was ever stored. */
export function emptyLimits(clock: Clock): Limits {
  return openLimits(clock, { keys: new Map(), lastRow: 0, lastTime: 0 });
}

/** An empty database in memory. */
export function memoryDatabase(): Sqlite {
  const sqlite = new Database(':memory:', { strict: true });
  migrate(sqlite, ':memory:');
  return sqlite;
}

/** Stores what was spent, as a server does once a second, and with `isLast` when it stops. */
export function saveTo(sqlite: Sqlite, limits: Limits, isLast = false): void {
  if (!limits.hasChanges(isLast)) return;
  const changes = limits.changes();
  prepareQuotaRows(sqlite)(changes.row, changes.neededFrom);
  changes.noteSaved();
}

/** The remaining quota of each limit of a key, in the order of its limits. */
export function left(limits: Limits, key: LimitedKey): number[] {
  return limits.levelsOf(key).map(({ remaining }) => remaining);
}

/** The remaining quota of each limit of a key, as a starting server reads it. */
export function leftIn(sqlite: Sqlite, key: LimitedKey, clock: Clock): number[] {
  return left(openLimits(clock, readStored(sqlite)), key);
}

/** Spends this many requests of a key, as `Limits.spend` does. */
export function use(limits: Limits, key: LimitedKey, count = 1): number | null {
  return limits.spend(limits.accountOf(key), count);
}

/**
 * A line of an import that contains the mark `xm<id>q` in each of its texts. The mark begins with two letters: SQLite
 * writes a page number before the rest of a long string, which with one letter could complete half a mark. Sizes differ
 * so that rows are on shared and on overflow pages, and in the middle of either. A later `round` changes some of the
 * texts.
 */
export function markedProfile(id: number, round = 0) {
  const mark = `xm${id}q`;
  return {
    id,
    username: `${mark}user${round}`,
    aliases: [`${mark}alias${round}`, `${mark}other`],
    authId: `auth0|${mark}${round}`,
    email: `${mark}${round}@example.org`,
    displayName: `${mark} ${round}`,
    customize: { bio: `${mark} `.repeat(((id * 37) % 400) * (id % 50 === 0 ? 10 : 1)) },
    links: [{ id: 'l', name: mark, link: `https://example.org/${mark}` }],
  };
}

/**
 * The marks found, in lower or upper case, in the database file or in files beside it whose names begin with its
 * name, each with its first location: the file, the page and the bytes around it.
 */
export function marksBeside(databasePath: string): Map<number, string> {
  const folder = dirname(databasePath);
  const found = new Map<number, string>();
  for (const name of readdirSync(folder).filter((one) => one.startsWith(basename(databasePath)))) {
    const text = readFileSync(join(folder, name), 'latin1');
    for (const { index, 1: id } of text.matchAll(/xm(\d+)q/gi)) {
      if (found.has(Number(id))) continue;
      const page = `page ${Math.floor(index / 4096) + 1}, byte ${index % 4096}`;
      found.set(Number(id), `${name}, ${page}: ${JSON.stringify(text.slice(Math.max(0, index - 32), index + 32))}`);
    }
  }
  return found;
}
