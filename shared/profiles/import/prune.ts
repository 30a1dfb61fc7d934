import { eq, sql } from 'drizzle-orm';
import { keepQuery } from '../../db/prepared-query.ts';
import { profiles } from '../../db/schema/profiles.ts';
import { changesSince, versionOf } from '../../shown-version.ts';
import { deletionOf } from '../edit/line.ts';
import type { EffectsOnKeys } from '../edit/pass.ts';
import { wholeLine } from '../edit/refusal.ts';
import { type BatchSize, yieldToOthers } from './batch-size.ts';
import { applyBatch } from './import-batch.ts';
import type { ImportRun } from './import-run.ts';
import type { ProfileRow } from './prune-candidates.ts';

/** The options of pruning. */
export type PruneOptions = {
  /** The maximum to erase, as a percentage of the profiles that existed before. */
  limitPercent: number;
  /**
   * Confirms the erasure of this many profiles, possibly by asking a person. `changes` are clauses about changes to
   * them since the previous call.
   */
  confirm: (profiles: number, changes: readonly string[]) => Promise<boolean>;
};

/**
 * Erases the profiles that the file did not contain, in batches, except those written after the file was read. Erases
 * none, and reports why, if a line was refused, the file may be truncated, too many would be erased, or the person
 * declines. Asks again if the profiles to erase have changed since the confirmation.
 */
export async function pruneCandidates(
  run: ImportRun,
  { limitPercent, confirm }: PruneOptions,
  isLastLineEnded: boolean,
  batchSize: BatchSize,
): Promise<void> {
  const { candidates, report, clock, asOfMs } = run;
  const times = () => ({ nowMs: clock.nowMs(), asOfMs });
  if (candidates === null) return;
  for (let changes: string[] | null = []; changes !== null; ) {
    const { count, facts } = candidates.left(times());
    const why = whyNot(run, candidates.before, count, limitPercent, isLastLineEnded);
    if (why !== null) return report.notPruned(`Nothing was pruned: ${why}.`);
    if (count === 0) return;
    if (!(await confirm(count, changes))) return report.notPruned('Nothing was pruned.');
    changes = changesSince(versionOf(facts), candidates.left(times()).facts);
  }
  const next = () => candidates.take(batchSize.maxLines(), times());
  for (let rows = next(); rows.length > 0; rows = next()) {
    batchSize.timed(() => report.pruned(erase(run, rows)));
    run.log.afterWrite();
    await yieldToOthers();
  }
}

/** Erases profiles, unless another profile has got the id before the lock was acquired. Returns how many. */
function erase(run: ImportRun, rows: readonly ProfileRow[]): number {
  const generations = new Map(rows.map(({ id, generation }) => [id, generation]));
  const refuseErasure: EffectsOnKeys['refuseErasure'] = (tx, id, nowMs) => {
    const row = generationOf(tx).get({ id });
    if (row !== undefined && row.generation !== generations.get(id)) return RECREATED;
    return run.onKeys.refuseErasure?.(tx, id, nowMs) ?? null;
  };
  const context = { ...run, onKeys: { ...run.onKeys, refuseErasure } };
  const deletions = rows.map(({ id }) => ({ number: 0, bytes: 0, line: deletionOf(id) }));
  return applyBatch(context, deletions, false).deleted;
}

const generationOf = keepQuery((db) =>
  db
    .select({ generation: profiles.generation })
    .from(profiles)
    .where(eq(profiles.id, sql.placeholder('id')))
    .prepare(),
);

const RECREATED = wholeLine('the profile was erased and recreated');

function whyNot(
  { report }: ImportRun,
  before: number,
  count: number,
  limitPercent: number,
  isLastLineEnded: boolean,
): string | null {
  if (report.refusedCount() > 0) return 'lines were refused';
  if (!isLastLineEnded) return 'the last line does not end in a line feed, so the file may be truncated';
  if (count * 100 <= before * limitPercent) return null;
  return `${count} of the ${before} profiles are not in the file, and --prune-limit allows ${limitPercent}%`;
}
