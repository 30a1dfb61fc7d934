import { write } from '../../db/write.ts';
import { noRemarks } from '../apply.ts';
import { deletionOf } from '../line.ts';
import { type ImportRun, inBatch } from './batches.ts';
import type { PruneOptions } from './candidates.ts';

/**
 * Erases the profiles that the file did not contain, in batches, except those written after the file was read. Erases
 * none, and reports why, if a line was refused, the file may be truncated, too many would be erased, or the person
 * declines.
 */
export async function pruneCandidates(
  run: ImportRun,
  { limitPercent, confirm }: PruneOptions,
  isLastLineEnded: boolean,
): Promise<void> {
  const { candidates, report, clock, asOfMs, db, applier, pace } = run;
  if (candidates === null) return;
  const nowMs = clock.nowMs();
  const left = candidates.countLeft(asOfMs ?? nowMs, nowMs);
  const why = whyNot(run, candidates.before, left, limitPercent, isLastLineEnded);
  if (why !== null) return report.notPruned(`Nothing was pruned: ${why}.`);
  if (left === 0) return;
  if (!(await confirm(left))) return report.notPruned('Nothing was pruned.');
  for (let isDone = false; !isDone; ) {
    const erased = await inBatch(run, () =>
      write(db, (tx) => {
        const nowMs = clock.nowMs();
        const untilMs = clock.monotonicMs() + pace.lockMs;
        let count = 0;
        while (clock.monotonicMs() < untilMs && !isDone) {
          const one = candidates.next(asOfMs ?? nowMs, nowMs);
          isDone = one === null;
          if (one === null) break;
          candidates.name([one.id]);
          if (applier.apply(tx, deletionOf(one.id), nowMs, noRemarks()) === 'deleted') count++;
        }
        applier.noteErased(tx, count, nowMs);
        return count;
      }),
    );
    report.pruned(erased);
  }
}

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
