import type { Clock } from '../../shared/clock.ts';
import { AppError } from '../../shared/errors.ts';
import type { ImportOptions } from '../../shared/profiles/import/import.ts';
import type { ImportOutcome, LastImport, RefusedLine } from '../../shared/profiles/import/report.ts';
import { cleanForTerminal } from '../../shared/text.ts';
import { ageText, counted, notice, print, printJson } from '../terminal/output.ts';
import { createProgress, type ProgressLine } from '../terminal/progress.ts';
import { confirm } from '../terminal/prompts.ts';

/** The callbacks of a running import. */
type ImportCallbacks = Required<Pick<ImportOptions, 'onProgress' | 'onRefused'>>;

/** How an import is shown. */
type ImportDisplay = {
  clock: Clock;
  json: boolean;
  /** The path of the database, and whether it was created. */
  database: string;
};

/** The number of refused lines that are printed. */
const MAX_LINES_SHOWN = 20;

/**
 * Runs an import, shows its progress and refused lines, and prints its result. Throws what `act` throws, and
 * `done_in_part` or `refused` if lines were refused.
 */
export async function showImport(
  { clock, json, database }: ImportDisplay,
  act: (callbacks: ImportCallbacks, progress: ProgressLine) => Promise<ImportOutcome>,
): Promise<void> {
  const progress = createProgress(clock);
  let refused = 0;
  const callbacks: ImportCallbacks = {
    onProgress: ({ lines, bytes, totalBytes }) => progress.show(lines, bytes, totalBytes),
    onRefused: (line) => {
      refused++;
      if (!json && refused <= MAX_LINES_SHOWN) progress.notice(cleanForTerminal(refusedLineText(line)));
    },
  };
  let outcome: ImportOutcome;
  try {
    outcome = await act(callbacks, progress);
  } finally {
    progress.clear();
  }
  const unseen = refused - MAX_LINES_SHOWN;
  if (!json && unseen > 0) notice(`… and ${unseen} more; --rejects keeps them, --json lists them`);
  const { details, ...result } = outcome;
  if (json) printJson(result);
  else printOutcome(outcome, database);
  const failure = failureOf(outcome, refused);
  if (failure !== null) throw failure;
}

/** Asks whether to erase this number of profiles. Throws `cancelled` after Ctrl-C or Ctrl-D. */
export async function confirmPruning(profiles: number, progress: ProgressLine): Promise<boolean> {
  progress.clear();
  const which = profiles === 1 ? 'the one profile' : `the ${profiles} profiles`;
  try {
    return await confirm(`Erase ${which} missing from the file for good, and revoke their API keys?`);
  } catch (error) {
    if (!(error instanceof AppError) || error.code !== 'cancelled') throw error;
    throw new AppError('cancelled', 'Cancelled: the file was imported, and nothing was pruned.');
  }
}

// The texts that "profiles import" prints.

/** `line 7 (id 12): viewsCount must be …`. The field is added if the reason does not name it. */
function refusedLineText({ line, id, field, reason }: RefusedLine): string {
  const about = [id === null ? [] : `id ${id}`, field === null || reason.includes(field) ? [] : field].flat();
  return `line ${line}${about.length === 0 ? '' : ` (${about.join(', ')})`}: ${reason}`;
}

const MAX_DROPPED_LISTED = 20;

/** The number of ids of skipped lines that an import returns. */
const MAX_NEWER_IDS = 10;

/** Prints the counts of an import to stdout, and remarks on the file to stderr. `database` says where it went. */
function printOutcome({ imported, deleted, pruned, newer, dropped, details }: ImportOutcome, database: string): void {
  if (dropped.length > 0) {
    const rows = dropped.slice(0, MAX_DROPPED_LISTED).map(({ field, reason, count, ids }) => {
      const more = count > ids.length ? ', …' : '';
      return `  ${count}  ${field} ${reason} (id ${ids.join(', ')}${more})`;
    });
    const rest = dropped.length - rows.length;
    notice(
      ['Left out of lines that were read:', ...rows, ...(rest > 0 ? [`  … and ${rest} more kinds`] : [])]
        .map((row) => cleanForTerminal(row))
        .join('\n'),
    );
  }
  if (details.blank > 0) notice(`${counted(details.blank, 'blank line')} skipped.`);
  if (details.notThere > 0) notice(`${counted(details.notThere, 'erasure')} skipped: the profile doesn't exist.`);
  if (details.unaddressed > 0) {
    const cleared = `The e-mail address of ${counted(details.unaddressed, 'profile')} was removed, since the line has no "email"`;
    notice(`Warning: ${cleared}; the old address is notified. With --merge, fields that a line lacks are kept.`);
  }
  for (const [what, profiles] of Object.entries(details.lost)) {
    if (profiles === 0) continue;
    notice(`Warning: ${counted(profiles, 'profile')} lost all ${what}, since the line has none. --merge keeps them.`);
  }
  if (newer > 0) {
    const ids = `${details.newerIds.join(', ')}${newer > MAX_NEWER_IDS ? ', …' : ''}`;
    notice(
      `${counted(newer, 'line')} skipped: the profile was written or erased here after the data was read (id ${ids}).`,
    );
  }
  if (details.refusedFor.length > 0) {
    const width = String(details.refusedFor[0]?.lines).length;
    const rows = details.refusedFor.map(({ reason, lines }) => `  ${String(lines).padStart(width)}  ${reason}`);
    notice(['Refused lines by reason:', ...rows].join('\n'));
  }
  const erased = deleted > 0 ? `; erased ${counted(deleted, 'profile')}` : '';
  const gone = pruned > 0 ? `; pruned ${counted(pruned, 'profile')}` : '';
  print(`Imported ${counted(imported, 'line')} into ${database}${erased}${gone}.`);
}

/** The error to throw if a part of the import failed, otherwise null. */
function failureOf({ imported, deleted, details }: ImportOutcome, refusedCount: number): AppError | null {
  const { notPruned } = details;
  const pruning = notPruned === null ? '' : ` ${notPruned}`;
  if (refusedCount > 0) {
    const were = `${counted(refusedCount, 'line')} ${refusedCount === 1 ? 'was' : 'were'} refused`;
    if (imported + deleted === 0) return new AppError('refused', `${were}; nothing was changed.`);
    return new AppError('done_in_part', `${were}; the rest was imported.${pruning}`);
  }
  return notPruned === null ? null : new AppError('done_in_part', `${notPruned} The rest was imported.`);
}

/** An import in `status`, such as `3h ago, by ada (on the box): 200000 lines, 3 refused`. */
export function lastImportText(last: LastImport | null, nowMs: number): string {
  if (last === null) return 'none';
  return `${ageText(last.at, nowMs)} ago, by ${last.by}: ${counted(last.lines, 'line')}, ${last.refused} refused`;
}
