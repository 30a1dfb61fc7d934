import type { Sqlite } from '../../db/connect.ts';

/** The options of pruning. */
export type PruneOptions = {
  /** The maximum to erase, as a percentage of the profiles that existed before. */
  limitPercent: number;
  /** Confirms the erasure of this many profiles, possibly by asking a person. */
  confirm: (profiles: number) => Promise<boolean>;
};

/** A profile that may be erased: if its revision is another now, somebody has changed it, or erased and made it again. */
type Candidate = { id: number; revision: number };

/** The profiles that existed before an import and that its lines have not contained yet. */
export type Candidates = ReturnType<typeof listCandidates>;

/** Lists all profiles in a temporary table, which SQLite moves to the disk if it is large. */
export function listCandidates(sqlite: Sqlite) {
  sqlite.run('DROP TABLE IF EXISTS temp.candidates');
  sqlite.run('CREATE TEMP TABLE candidates (id INTEGER PRIMARY KEY, revision INTEGER NOT NULL)');
  const before = sqlite.run('INSERT INTO temp.candidates SELECT id, revision FROM main.profiles').changes;
  const remove = sqlite.query('DELETE FROM temp.candidates WHERE id = ?');
  // Profiles that were written after the file was read are kept.
  const erasable = `FROM temp.candidates JOIN main.profiles USING (id, revision)
    WHERE NOT (written_at > ? AND written_at <= ?)`;
  const count = sqlite.query<{ left: number }, [number, number]>(`SELECT count(*) AS left ${erasable}`);
  const next = sqlite.query<Candidate, [number, number]>(`SELECT id, revision ${erasable} ORDER BY id LIMIT 1`);
  return {
    before,
    name: (ids: readonly number[]): void => {
      for (const id of ids) remove.run(id);
    },
    countLeft: (asOfMs: number, nowMs: number) => count.get(asOfMs, nowMs)?.left ?? 0,
    next: (asOfMs: number, nowMs: number) => next.get(asOfMs, nowMs),
  };
}
