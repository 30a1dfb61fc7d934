import { applyBatch } from './import-batch.ts';
import type { ImportRun } from './import-run.ts';
import { deletionOf } from './line.ts';
import { giveTurn, type Pace } from './pace.ts';

/** How to prune. */
export type PruneOptions = {
  /** Of the profiles that there were before, so many percent may be erased. */
  limitPercent: number;
  /** Whether these many profiles shall be erased: a person may be asked. */
  confirm: (profiles: number) => Promise<boolean>;
};

/**
 * Erases the profiles that the whole file has not named, in batches, but none that was written after the file was read. Erases none, and reports why, where a line was
 * refused, the file may have been cut off, there would be too many, or the person says no.
 */
export async function pruneUnnamed(
  run: ImportRun,
  { limitPercent, confirm }: PruneOptions,
  isLastLineEnded: boolean,
  pace: Pace,
): Promise<void> {
  const { unnamed, report, clock, asOfMs } = run;
  const times = () => ({ nowMs: clock.nowMs(), asOfMs });
  if (unnamed === null) return;
  const count = unnamed.count(times());
  const why = whyNot(run, unnamed.before, count, limitPercent, isLastLineEnded);
  if (why !== null) return report.notPruned(`Nothing was pruned: ${why}.`);
  if (count === 0) return;
  if (!(await confirm(count))) return report.notPruned('Nothing was pruned.');
  const next = () => unnamed.take(pace.maxLines(), times());
  for (let ids = next(); ids.length > 0; ids = next()) {
    const deletions = ids.map((id) => ({ number: 0, bytes: 0, line: deletionOf(id) }));
    pace.timed(() => report.pruned(applyBatch(run, deletions, false).deleted));
    run.log.afterWrite();
    await giveTurn();
  }
}

/** Why nothing may be pruned, as a clause; null where nothing speaks against it. */
function whyNot(
  { report }: ImportRun,
  before: number,
  count: number,
  limitPercent: number,
  isLastLineEnded: boolean,
): string | null {
  if (report.refusedCount() > 0) return 'lines were refused';
  if (!isLastLineEnded) return 'the last line does not end in a line feed, so the file may have been cut off';
  if (count * 100 <= before * limitPercent) return null;
  return `the file does not name ${count} of the ${before} profiles that there were, and --prune-limit allows ${limitPercent}%`;
}
