import type { Clock } from '../../shared/clock.ts';
import { AppError } from '../../shared/errors.ts';
import type { ImportOptions } from '../../shared/profiles/import/batches.ts';
import type { ImportOutcome } from '../../shared/profiles/import/report.ts';
import { cleanForTerminal } from '../../shared/text.ts';
import { notice, printJson } from '../terminal/output.ts';
import { createProgress, type ProgressLine } from '../terminal/progress.ts';
import { confirm } from '../terminal/prompts.ts';
import { failureOf, printOutcome, refusedLineText } from './import-texts.ts';

/** The callbacks of a running import. */
type ImportCallbacks = Required<Pick<ImportOptions, 'onProgress' | 'onRefused' | 'onWarning'>>;

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
    onWarning: (sentence) => progress.notice(`Warning: ${sentence}`),
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
