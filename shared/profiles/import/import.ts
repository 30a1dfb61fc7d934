import type { Actor } from '../../actor.ts';
import { guardDatabase } from '../../db/faults.ts';
import type { Deps } from '../../deps.ts';
import { AppError, isForOperator } from '../../errors.ts';
import { keepLogShort } from '../../files/log-keeper.ts';
import { createApplier } from '../edit/apply.ts';
import type { EffectsOnKeys } from '../edit/pass.ts';
import { storeLastImport } from '../last-import.ts';
import { COMMAND_PACE, createBatchSize, type Pace } from './batch-size.ts';
import { importInBatches } from './import-batches.ts';
import { createImportReport, type ImportOutcome, type RefusedLine } from './import-report.ts';
import type { ImportRun } from './import-run.ts';
import { type ImportSource, nameOf, type OnProgress, sourceFault } from './import-source.ts';
import { importStrictly } from './import-strict.ts';
import { type PruneOptions, pruneCandidates } from './prune.ts';
import { createPruneCandidates } from './prune-candidates.ts';
import type { Rejects } from './rejects.ts';

/** The dependencies of an import. */
export type ImportDeps = Pick<Deps, 'db' | 'clock'>;

/** The options of an import. */
export type ImportOptions = {
  /**
   * If true, a line whose profile exists changes only the fields that it contains; otherwise it replaces the profile.
   */
  merge: boolean;
  /**
   * If true, all lines are applied or none, in one transaction; otherwise bad lines are skipped and the rest is applied
   * in batches.
   */
  strict: boolean;
  /**
   * When the data was read, in milliseconds since 1970: lines are skipped if their profile was written or erased here
   * since. Absent if unknown. The caller has checked that it is neither in the future nor more than 40 days ago.
   */
  asOfMs?: number;
  by: Actor;
  /** The effects on the keys of profiles (`effectsOnKeys` in shared/erasure). */
  onKeys: EffectsOnKeys;
  /** Erases the profiles that the file does not contain, at the end. */
  prune?: PruneOptions;
  rejects?: Rejects;
  /** Absent for a command. */
  pace?: Pace;
  onProgress?: OnProgress;
  /** Called for each refused line; with `strict`, conflicts come in no particular order. */
  onRefused?: (refused: RefusedLine) => void;
  /**
   * Called with a sentence if the time of the last import can't be stored.
   */
  onWarning?: (sentence: string) => void;
};

/**
 * Imports JSON Lines into the database (docs/profiles.md): upserts by id, erasures, refusals. Memory use does not grow
 * with the file. A batch is applied completely or not at all, whatever stops the process. Throws `refused` if the source can't be read or contains no line, and the errors of `write`. Batches
 * committed before an error stay; the error is then `done_in_part`, and its sentence says how many lines were applied.
 */
export async function importProfiles(
  deps: ImportDeps,
  source: ImportSource,
  options: ImportOptions,
): Promise<ImportOutcome> {
  const { db, clock } = deps;
  const { onWarning = () => {} } = options;
  const run = prepareRun(deps, options);
  const batchSize = createBatchSize(clock, options.pace ?? COMMAND_PACE);
  let blank = 0;
  try {
    const end = options.strict ? await importStrictly(run, source) : await importInBatches(run, source, batchSize);
    if (run.report.lineCount() === 0)
      throw new AppError('refused', `${nameOf(source)} has no lines; nothing was changed.`);
    blank = end.blank;
    if (options.prune !== undefined) await pruneCandidates(run, options.prune, end.isLastEnded, batchSize);
  } catch (error) {
    throw withImportedCount(sourceFault(source, error) ?? error, run.report.appliedCount());
  } finally {
    run.log.end();
  }
  const outcome = run.report.outcome(blank);
  const { lines } = outcome.details;
  const erased = outcome.deleted + outcome.pruned;
  if (outcome.imported + erased > 0) {
    const last = { atMs: clock.nowMs(), by: options.by, lines, refused: run.report.refusedCount() };
    try {
      storeLastImport(db, last);
    } catch (error) {
      if (!(error instanceof AppError)) throw error;
      onWarning(`The import is done, but "status" will not show it. ${error.message}`);
    }
  }
  return outcome;
}

function prepareRun({ db, clock }: ImportDeps, options: ImportOptions): ImportRun {
  const { merge, asOfMs = null, by, onKeys, prune, rejects = null, onProgress = () => {}, onRefused } = options;
  const sqlite = db.$client;
  return guardDatabase(sqlite.filename, () => {
    const log = keepLogShort(sqlite);
    const apply = createApplier(sqlite);
    const candidates = prune === undefined ? null : createPruneCandidates(sqlite);
    const report = createImportReport(onRefused);
    // A file may contain all profiles every night, and most of its lines change nothing: without --as-of, these are not
    // written.
    const confirms = by.kind === 'backend' || asOfMs !== null;
    const context = { db, clock, apply, merge, onKeys, confirms, asOfMs };
    return { ...context, log, report, rejects, candidates, onProgress };
  });
}

/** The error that ended an import; if lines were already applied, a `done_in_part` that also says how many. */
export function withImportedCount(error: unknown, lines: number): unknown {
  if (!(error instanceof AppError) || error.code === 'cancelled' || lines === 0) return error;
  const imported = lines === 1 ? '1 line was imported' : `${lines} lines were imported`;
  const sentence = error.message.replace(/(; this step wrote nothing)?\.$/, `; ${imported}$1.`);
  return new AppError('done_in_part', sentence, { cause: error, isForOperator: isForOperator(error) });
}
