import { Database } from 'bun:sqlite';
import { expect } from 'bun:test';
import { readdirSync, readFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import type { Clock } from '../../shared/clock.ts';
import type { Sqlite } from '../../shared/db/connect.ts';
import { migrate } from '../../shared/db/migrate.ts';
import { type LimitedKey, type Limits, openLimits } from '../../shared/limits/limits.ts';
import { prepareQuotaRows, readStored } from '../../shared/limits/stored.ts';
import { noteUsageSaved, prepareUsageRows, type Usage } from '../../shared/usage/usage.ts';

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
