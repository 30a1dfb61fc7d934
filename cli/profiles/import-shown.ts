import type { Clock } from '../../shared/clock.ts';
import { AppError, refusalOf } from '../../shared/errors.ts';
import type { ImportOptions } from '../../shared/profiles/import/import.ts';
import type { ImportOutcome } from '../../shared/profiles/import/import-report.ts';
import type { MayOverwrite } from '../../shared/profiles/import/rejects.ts';
import { cleanForTerminal } from '../../shared/text.ts';
import { untilInterrupted } from '../terminal/interrupt.ts';
import { counted, notice, printJson } from '../terminal/output.ts';
import { createProgress, type ProgressLine } from '../terminal/progress.ts';
import { confirm } from '../terminal/prompts.ts';
import { failureOf, printOutcome, refusedLineText, refusedText } from './import-texts.ts';

/** What an import tells while it runs. */
export type ImportEars = Required<Pick<ImportOptions, 'onProgress' | 'onRefused' | 'onWarning'>>;

/** How an import is shown. */
export type Shown = {
  clock: Clock;
  json: boolean;
  isPruning: boolean;
  /** True where Ctrl-C ends the process at once, because nothing is changed then. */
  endsAtOnce: boolean;
  /** True for an import by a server elsewhere, which may take in lines that it has not answered for when Ctrl-C comes. */
  isElsewhere: boolean;
};

/** How many refused lines a person is shown. */
export const MAX_LINES_SAID = 20;

type Said = { lastLine: number; refused: number; deferred: number };

/**
 * Runs an import, shows its progress and refused lines meanwhile, and prints at its end what it did. Throws what `act`
 * throws, `cancelled` after Ctrl-C with what is in, and `done_in_part` or `refused` where not all is in.
 */
export async function showImport(
  { clock, json, isPruning, endsAtOnce, isElsewhere }: Shown,
  act: (ears: ImportEars, progress: ProgressLine) => Promise<ImportOutcome>,
): Promise<void> {
  const progress = createProgress(clock);
  const said: Said = { lastLine: 0, refused: 0, deferred: 0 };
  const ears: ImportEars = {
    onProgress: ({ lines, bytes, totalBytes, deferred }) => {
      Object.assign(said, { lastLine: lines, deferred });
      progress.show(lines, bytes, totalBytes);
    },
    onRefused: (line) => {
      said.refused++;
      if (!json && said.refused <= MAX_LINES_SAID) progress.notice(cleanForTerminal(refusedLineText(line)));
    },
    onWarning: (sentence) => progress.notice(`Warning: ${sentence}`),
  };
  let outcome: ImportOutcome;
  try {
    const acting = act(ears, progress);
    outcome = endsAtOnce ? await acting : await untilInterrupted(acting, () => interruptedText(said, isElsewhere));
  } finally {
    progress.clear();
  }
  const unsaid = said.refused - MAX_LINES_SAID;
  if (!json && unsaid > 0) notice(`… and ${unsaid} more; --rejects keeps them, --json lists them`);
  const { details, ...result } = outcome;
  if (json) printJson(result);
  else printOutcome(outcome, isPruning);
  const failure = failureOf(outcome, said.refused);
  if (failure !== null) throw failure;
}

/** Says what is in when Ctrl-C comes: each batch is in as a whole or not at all, and has told its last line. */
function interruptedText({ lastLine, refused, deferred }: Said, isElsewhere: boolean): string {
  if (lastLine === 0) {
    return isElsewhere
      ? 'Interrupted; what was just being sent may be in. Import the file again to have all of it.'
      : (refusalOf('cancelled').sentence as string);
  }
  const waiting = deferred === 1 ? '1 line waited' : `${deferred} lines waited`;
  const buts = [refused > 0 ? refusedText(refused) : [], deferred > 0 ? `${waiting} for names of others` : []].flat();
  const but = buts.length === 0 ? '' : ` (${buts.join(', ')})`;
  const rest = isElsewhere ? 'what was just being sent may be' : 'the rest is not';
  return `Interrupted after line ${lastLine}: what stands up to there is in${but}, ${rest}. Import the file again to have all of it.`;
}

/**
 * Asks before profiles are erased, where somebody can be asked. Says first what has changed since the question before.
 * Throws `cancelled` where that is broken off.
 */
export async function confirmPruning(
  profiles: number,
  changes: readonly string[],
  progress: ProgressLine,
): Promise<boolean> {
  progress.clear();
  if (changes.length > 0) {
    notice(`The profiles that the file does not name have changed meanwhile: ${changes.join(', ')}. None was erased.`);
  }
  const which = profiles === 1 ? 'the one profile' : `the ${profiles} profiles`;
  try {
    return await confirm(`Erase ${which} that the file does not name for good, and stop their API keys?`);
  } catch (error) {
    if (!(error instanceof AppError) || error.code !== 'cancelled') throw error;
    throw new AppError('cancelled', 'Cancelled: the file is in, and nothing was pruned.');
  }
}

/**
 * Decides whether the file of --rejects is overwritten although it holds something: asks where somebody can be asked, else
 * says that it is. Throws `refused` for a file that no import has written, where nobody can be asked.
 */
export async function mayOverwrite(
  path: string,
  { bytes, mayBeOurs }: Parameters<MayOverwrite>[0],
  asks: boolean,
): Promise<boolean> {
  if (asks) {
    return confirm(`${path} is there already (${counted(bytes, 'byte')}). Overwrite it with the refused lines?`);
  }
  if (!mayBeOurs) {
    const what = 'is there already, and is no file of refused lines';
    throw new AppError('refused', `${path} ${what}; remove it, or name another one. Nothing was changed.`);
  }
  notice(`${path} is overwritten; it held ${counted(bytes, 'byte')} of refused lines.`);
  return true;
}
