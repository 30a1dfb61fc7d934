import type { Clock } from '../../../shared/clock.ts';
import { openInMemory, type Sqlite } from '../../../shared/db/connect.ts';
import { migrate } from '../../../shared/db/migrate.ts';
import { type LimitedKey, type Limits, openLimits } from '../../../shared/limits/limits.ts';
import { prepareQuotaRows, readStored } from '../../../shared/limits/stored.ts';

/** Limits of which nothing was ever stored. */
export function emptyLimits(clock: Clock): Limits {
  return openLimits(clock, { keys: new Map(), lastRow: 0, lastTime: 0 });
}

/** An empty database in memory. */
export function memoryDatabase(): Sqlite {
  const sqlite = openInMemory();
  migrate(sqlite, ':memory:');
  return sqlite;
}

/** Stores what was spent, as a server does once a second, and with `isLast` when it stops. */
export function saveTo(sqlite: Sqlite, limits: Limits, isLast = false): void {
  const changes = limits.changes(isLast);
  if (changes === null) return;
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
