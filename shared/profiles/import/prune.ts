import type { Sqlite } from '../../db/connect.ts';

// Which profiles `--prune` erases: those that the file does not contain.

/** The options of pruning. */
export type PruneOptions = {
  /** The maximum to erase, as a percentage of the profiles that existed before. */
  limitPercent: number;
  /** Confirms the erasure of this many profiles, possibly by asking a person. */
  confirm: (profiles: number) => Promise<boolean>;
};

/** A profile that may be erased: if its revision is another now, somebody has changed it, or erased and made it again. */
type Candidate = { id: number; revision: number };

/**
 * Lists the profiles that an import may erase, because its lines have not contained them yet, in a temporary table, which
 * SQLite moves to the disk if it is large.
 */
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
    /** Takes profiles off the list. */
    keep: (ids: readonly number[]): void => {
      for (const id of ids) remove.run(id);
    },
    countLeft: (asOfMs: number, nowMs: number) => count.get(asOfMs, nowMs)?.left ?? 0,
    next: (asOfMs: number, nowMs: number) => next.get(asOfMs, nowMs),
  };
}

/** What decides whether an import may prune; `left` profiles of those `before` it are not in the file. */
type Facts = { refused: number; isLastLineEnded: boolean; before: number; left: number; limitPercent: number };

/** Why nothing is pruned, as the end of a sentence; null if something may be. */
export function whyNotPruned({ refused, isLastLineEnded, before, left, limitPercent }: Facts): string | null {
  if (refused > 0) return 'lines were refused';
  if (!isLastLineEnded) return 'the last line does not end in a line feed, so the file may be truncated';
  if (left * 100 <= before * limitPercent) return null;
  return `${left} of the ${before} profiles are not in the file, and --prune-limit allows ${limitPercent}%`;
}
