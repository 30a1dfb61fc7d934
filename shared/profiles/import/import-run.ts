import type { Deps } from '../../deps.ts';
import type { LogKeeper } from '../../files/log-keeper.ts';
import { type LineRefusal, type ProfileLine, parseLine } from '../edit/line.ts';
import type { Loser } from '../edit/name-conflicts.ts';
import type { Entry } from '../edit/pass.ts';
import type { Refusal } from '../edit/refusal.ts';
import { wholeLine } from '../edit/refusal.ts';
import { applyBatch, type BatchContext } from './import-batch.ts';
import type { ImportReport } from './import-report.ts';
import type { OnProgress } from './import-source.ts';
import type { PruneCandidates } from './prune-candidates.ts';
import type { Rejects } from './rejects.ts';
import type { SplitLine } from './split.ts';

/** The state of one import. */
export type ImportRun = BatchContext & {
  clock: Deps['clock'];
  log: LogKeeper;
  report: ImportReport;
  rejects: Rejects | null;
  /** The profiles that the file has not contained yet; null without pruning. */
  candidates: PruneCandidates | null;
  onProgress: OnProgress;
};

/** A validated line with its text. */
export type TextEntry = Entry & { text: string };

/** Validates a line of the file and counts it. */
export function readLine(
  { merge, report }: Pick<ImportRun, 'merge' | 'report'>,
  line: SplitLine,
): ProfileLine | LineRefusal {
  const parsed = 'fault' in line ? { id: null, ...wholeLine(line.fault) } : parseLine(line.text, merge);
  report.read('reason' in parsed ? null : parsed);
  return parsed;
}

/** The line itself; null if it was too long to be held in memory. */
export function rawOf(line: SplitLine): string | Uint8Array | null {
  return 'text' in line ? line.text : line.raw;
}

/** Reports a line as finally refused. */
export function refuseLine(
  { report, rejects }: Pick<ImportRun, 'report' | 'rejects'>,
  line: { number: number; id: number | null; raw: string | Uint8Array | null },
  { field, reason, sum }: Refusal,
): void {
  report.refuse({ line: line.number, id: line.id, field, reason }, sum);
  if (line.raw !== null) rejects?.writeLine(line.raw);
}

/** Applies lines in their own transaction. Returns the losers by line number; `applyBatch` explains `mayWait`. */
export function applyEntries(run: ImportRun, entries: readonly Entry[], mayWait: boolean): Map<number, Loser> {
  if (entries.length === 0) return new Map();
  const { refused, ...applied } = applyBatch(run, entries, mayWait);
  run.report.applied(applied);
  return new Map(refused.map((loser) => [loser.line, loser]));
}
