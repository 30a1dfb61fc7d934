import type { Sqlite } from '../../db/connect.ts';
import type { Times } from './newer.ts';

/** The profiles that were there before an import and that no line of it has named yet. */
export type Unnamed = {
  /** How many profiles there were before. */
  before: number;
  /** Takes these ids out, because a line names them. */
  name: (ids: readonly number[]) => void;
  /** How many are left and may be erased. */
  count: (times: Times) => number;
  /** Takes out at most so many of those that are left and may be erased, in the order of their ids, and returns them. */
  take: (most: number, times: Times) => number[];
};

/** Lists the ids of all profiles in a temporary table, which SQLite moves to the disk where there are many. */
export function createUnnamed(sqlite: Sqlite): Unnamed {
  sqlite.run('DROP TABLE IF EXISTS temp.unnamed');
  sqlite.run('CREATE TEMP TABLE unnamed (id INTEGER PRIMARY KEY)');
  const before = sqlite.run('INSERT INTO temp.unnamed SELECT id FROM main.profiles').changes;
  const remove = sqlite.prepare('DELETE FROM temp.unnamed WHERE id IN (SELECT value FROM json_each(?))');
  const name = (ids: readonly number[]): void => void remove.run(JSON.stringify(ids));
  // Those that were written after the file was read are spared.
  const erasable = 'temp.unnamed JOIN main.profiles USING (id) WHERE NOT (written_at > ? AND written_at <= ?)';
  const left = sqlite.prepare<{ count: number }, [number, number]>(`SELECT count(*) AS count FROM ${erasable}`);
  const next = sqlite.prepare<{ id: number }, [number, number, number]>(
    `SELECT id FROM ${erasable} ORDER BY id LIMIT ?`,
  );
  const bounds = ({ asOfMs, nowMs }: Times): [number, number] => [asOfMs ?? nowMs, nowMs];
  return {
    before,
    name,
    count: (times) => left.get(...bounds(times))?.count ?? 0,
    take: (most, times) => {
      const ids = next.all(...bounds(times), most).map(({ id }) => id);
      name(ids);
      return ids;
    },
  };
}
