import type { Command } from 'commander';
import { AppError, refusalOf } from '../../shared/errors.ts';
import type { ImportResult, RefusedLine } from '../../shared/profiles/write/import-report.ts';
import { cleanForTerminal } from '../../shared/text.ts';
import { type Context, withContext } from '../context.ts';
import { giveWay } from '../give-way.ts';
import { untilInterrupted } from '../interrupt.ts';
import { notice, print, printJson } from '../output.ts';
import { createProgress } from '../progress.ts';

type Options = { merge?: boolean; strict?: boolean };

/** `profiles import`: JSON Lines into the database, which it creates where there is none. */
export function addTo(parent: Command): void {
  parent
    .command('import')
    .description('Put profiles in from a file of JSON Lines, or from stdin with "-".')
    .argument('<file>', 'the file, one JSON object a line; "-" is stdin')
    .option('--merge', 'change only the fields that a line has, instead of replacing the profile')
    .option('--strict', 'check the whole file first, then put all of it in, or nothing')
    .addHelpText(
      'after',
      `
A bad line is reported with its number and left out; the exit code is then 3, and the rest is in (1 where nothing\nis). After ${MAX_LINES_SAID} such
lines only their number is told; --json lists all. Where the import can't go on (no room on the disk, say), the sentence
tells how many lines are in.
{"id":7,"deleted":true} erases a profile, as "profiles erase" does. customize, discordClean and assets are published as they are.
A profile that would show more than MAX_PROFILE_KIB (64), its links included, is refused.

Examples:
  profilectl profiles import profiles.jsonl
  profilectl profiles import --merge --strict changes.jsonl
  zcat profiles.jsonl.gz | profilectl profiles import -`,
    )
    .action(async (file: string, options: Options, command: Command) => {
      const { checkSource } = await import('../../shared/profiles/write/import-source.ts');
      // Before a database is made for nothing.
      if (file !== '-') checkSource(file);
      else if (process.stdin.isTTY) notice('Reading lines from the terminal; Ctrl-D on an empty line ends them.');
      await withContext(command, 'fill', (context) => importFile(context, file, options));
    });
}

/** Of the lines that are refused, a person is shown so many. */
const MAX_LINES_SAID = 20;

async function importFile({ deps, actor, json }: Context, file: string, options: Options): Promise<void> {
  giveWay();
  const { effectsOnKeys } = await import('../../shared/erasure/erase-profile.ts');
  const { importProfiles } = await import('../../shared/profiles/write/import.ts');
  const progress = createProgress(deps.clock);
  let refusedCount = 0;
  const onRefused = ({ line, reason }: RefusedLine): void => {
    refusedCount++;
    if (!json && refusedCount <= MAX_LINES_SAID) progress.notice(cleanForTerminal(`line ${line}: ${reason}`));
  };
  const strict = options.strict === true;
  let lastLine = 0;
  let result: ImportResult;
  try {
    const act = importProfiles(deps, file === '-' ? process.stdin : file, {
      merge: options.merge === true,
      strict,
      onKeys: effectsOnKeys(actor),
      onProgress: ({ lines, bytes, totalBytes }) => {
        lastLine = lines;
        progress.show(lines, bytes, totalBytes);
      },
      onRefused,
      onWarning: (sentence) => progress.notice(`Warning: ${sentence}`),
    });
    // With --strict Ctrl-C ends the process at once: all is one transaction, so nothing was changed.
    result = strict ? await act : await untilInterrupted(act, () => interruptedText(lastLine, refusedCount));
  } finally {
    progress.clear();
  }
  const unsaid = refusedCount - MAX_LINES_SAID;
  if (!json && unsaid > 0) notice(`… and ${unsaid} more; --json lists them`);
  if (json) printJson(result);
  else report(result);
  if (refusedCount === 0) return;
  const were = refusedText(refusedCount);
  if (result.imported + result.deleted > 0) throw new AppError('done_in_part', `${were}; the rest is in.`);
  throw new AppError('refused', `${were}; nothing was changed.`);
}

function refusedText(count: number): string {
  return count === 1 ? '1 line was refused' : `${count} lines were refused`;
}

/** What is in when Ctrl-C comes; batches are wholly in or out, and each has told its last line. */
function interruptedText(lastLine: number, refusedCount: number): string {
  if (lastLine === 0) return refusalOf('cancelled').sentence as string;
  const but = refusedCount === 0 ? '' : ` (${refusedText(refusedCount)})`;
  return `Interrupted after line ${lastLine}: what stands up to there is in${but}, the rest is not. Import the file again to have all of it.`;
}

const MAX_FIELDS_LISTED = 20;

function report({ imported, deleted, dropped }: ImportResult): void {
  const fields = Object.entries(dropped);
  if (fields.length > 0) {
    const listed = fields.slice(0, MAX_FIELDS_LISTED).map(([field, count]) => `${field} (${count})`);
    const more = fields.length > listed.length ? ` and ${fields.length - listed.length} more` : '';
    notice(cleanForTerminal(`Fields that profiles don't have were dropped: ${listed.join(', ')}${more}.`));
  }
  const lines = imported === 1 ? '1 line' : `${imported} lines`;
  print(`Imported ${lines}; erased ${deleted === 1 ? '1 profile' : `${deleted} profiles`}.`);
}
