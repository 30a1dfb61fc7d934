import type { Sqlite } from '../../db/connect.ts';

/** The profiles that were there before an import and that no line of it has named yet. */
export type Unnamed = {
  /** How many profiles there were before. */
  before: number;
  /** Takes these ids out, because a line names them. */
  name: (ids: readonly number[]) => void;
  /** How many are left. */
  count: () => number;
  /** Takes out at most so many of those that are left, in the order of their ids, and returns them. */
  take: (most: number) => number[];
};

/** Lists the ids of all profiles in a temporary table, which SQLite moves to the disk where there are many. */
export function createUnnamed(sqlite: Sqlite): Unnamed {
  sqlite.run('DROP TABLE IF EXISTS temp.unnamed');
  sqlite.run('CREATE TEMP TABLE unnamed (id INTEGER PRIMARY KEY)');
  const before = sqlite.run('INSERT INTO temp.unnamed SELECT id FROM main.profiles').changes;
  const remove = sqlite.prepare('DELETE FROM temp.unnamed WHERE id IN (SELECT value FROM json_each(?))');
  const name = (ids: readonly number[]): void => void remove.run(JSON.stringify(ids));
  const left = sqlite.prepare<{ count: number }, []>(
    'SELECT count(*) AS count FROM temp.unnamed JOIN main.profiles USING (id)',
  );
  const next = sqlite.prepare<{ id: number }, [number]>('SELECT id FROM temp.unnamed ORDER BY id LIMIT ?');
  return {
    before,
    name,
    count: () => left.get()?.count ?? 0,
    take: (most) => {
      const ids = next.all(most).map(({ id }) => id);
      name(ids);
      return ids;
    },
  };
}
