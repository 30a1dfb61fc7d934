import { createHash } from 'node:crypto';
import type { Sqlite } from '../../db/connect.ts';
import type { Facts } from '../../shown-version.ts';
import type { Times } from '../edit/newer.ts';

/** Identifies a profile's row: after an erasure, another profile may get the id. */
export type ProfileRow = { id: number; generation: number };

/** The profiles that existed before an import and that its lines have not contained yet. */
export type PruneCandidates = {
  before: number;
  /** Removes these ids, because lines contain them. */
  name: (ids: readonly number[]) => void;
  /** The number of profiles that are left and may be erased, and the facts about them for a confirmation. */
  left: (times: Times) => { count: number; facts: Facts };
  /** Removes and returns the first `max` profiles, by id, that are left and may be erased. */
  take: (max: number, times: Times) => ProfileRow[];
};

/** SQLite's value for no limit. */
const NO_LIMIT = -1;

/** Lists all profiles in a temporary table, which SQLite moves to the disk if it is large. */
export function createPruneCandidates(sqlite: Sqlite): PruneCandidates {
  sqlite.run('DROP TABLE IF EXISTS temp.candidates');
  sqlite.run('CREATE TEMP TABLE candidates (id INTEGER PRIMARY KEY, generation INTEGER NOT NULL)');
  const before = sqlite.run('INSERT INTO temp.candidates SELECT id, generation FROM main.profiles').changes;
  const remove = sqlite.prepare('DELETE FROM temp.candidates WHERE id IN (SELECT value FROM json_each(?))');
  const name = (ids: readonly number[]): void => void remove.run(JSON.stringify(ids));
  // Profiles that were written after the file was read are kept, as are those that were erased and created again.
  const erasable = sqlite.prepare<ProfileRow, [number, number, number]>(
    `SELECT id, generation FROM temp.candidates JOIN main.profiles USING (id, generation)
       WHERE NOT (written_at > ? AND written_at <= ?) ORDER BY id LIMIT ?`,
  );
  const bounds = ({ asOfMs, nowMs }: Times): [number, number] => [asOfMs ?? nowMs, nowMs];
  return {
    before,
    name,
    left: (times) => {
      const hash = createHash('sha256');
      let count = 0;
      for (const { id, generation } of erasable.iterate(...bounds(times), NO_LIMIT)) {
        hash.update(`${id} ${generation}\n`);
        count++;
      }
      const clause = 'some were erased, recreated or changed';
      return { count, facts: { profiles: [hash.digest('base64url'), clause] } };
    },
    take: (max, times) => {
      const rows = erasable.all(...bounds(times), max);
      name(rows.map(({ id }) => id));
      return rows;
    },
  };
}
