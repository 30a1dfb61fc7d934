import { Database } from 'bun:sqlite';
import { afterAll } from 'bun:test';
import type { Clock } from '../../shared/clock.ts';
import type { Sqlite } from '../../shared/db/connect.ts';
import { migrate } from '../../shared/db/migrate.ts';
import { closeReader, endView, openReader } from '../../shared/db/reader.ts';
import type { Deps } from '../../shared/deps.ts';
import { prepareVerifier, type Verifier } from '../../shared/keys/verify.ts';
import { type LimitedKey, type Limits, openLimits } from '../../shared/limits/limits.ts';
import { prepareQuotaRows, readStored } from '../../shared/limits/stored.ts';
import { type Leaderboard, prepareLeaderboard } from '../../shared/profiles/board.ts';
import { type Lookup, prepareLookup } from '../../shared/profiles/lookup.ts';

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

/** The remaining quota of each limit of a key, as a starting server reads it. */
export function leftIn(sqlite: Sqlite, key: LimitedKey, clock: Clock): number[] {
  return openLimits(clock, readStored(sqlite))
    .levelsOf(key)
    .map(({ remaining }) => remaining);
}

/** Spends this many requests of a key, as `Limits.spend` does. */
export function use(limits: Limits, key: LimitedKey, count = 1): number | null {
  return limits.spend(limits.accountOf(key), count);
}

/** Everything with which a server reads. Each call sees all commits before it, as if in a separate turn. */
export function readingOf({ db, clock }: Pick<Deps, 'db' | 'clock'>) {
  const reader = openReader(db.$client.filename);
  afterAll(() => closeReader(reader));
  const withNewView = <Of extends unknown[], T>(act: (...of: Of) => T) => {
    return (...of: Of): T => {
      endView(reader);
      return act(...of);
    };
  };
  const { one, many } = prepareLookup(reader);
  const verify: Verifier = withNewView(prepareVerifier(reader, clock));
  const lookup: Lookup = { one: withNewView(one), many: withNewView(many) };
  const leaderboard: Leaderboard = withNewView(prepareLeaderboard(reader));
  return { reader, verify, lookup, leaderboard };
}
