import { type Command, Option } from 'commander';
import { AppError, refusalOf } from '../../shared/errors.ts';
import type { ImportOutcome, RefusedLine } from '../../shared/profiles/write/import-report.ts';
import type { ImportSource } from '../../shared/profiles/write/import-source.ts';
import type { PruneOptions } from '../../shared/profiles/write/prune.ts';
import type { Rejects } from '../../shared/profiles/write/rejects.ts';
import { cleanForTerminal } from '../../shared/text.ts';
import { type Context, globalsOf, withContext } from '../context.ts';
import { giveWay } from '../give-way.ts';
import { untilInterrupted } from '../interrupt.ts';
import { notice, printJson } from '../output.ts';
import { createProgress, type ProgressLine } from '../progress.ts';
import { isAsking } from '../values.ts';
import { failureOf, printOutcome, refusedLineText, refusedText } from './import-texts.ts';

type Options = {
  merge?: boolean;
  strict?: boolean;
  prune?: boolean;
  pruneLimit?: string;
  rejects?: string;
  fromServer?: boolean;
};

const DEFAULT_LIMIT = '10%';

/** `profiles import`: JSON Lines into the database, which it creates where there is none. */
export function addTo(parent: Command): void {
  parent
    .command('import')
    .description('Put profiles in from a file of JSON Lines, or from stdin with "-".')
    .argument('<file>', 'the file, one JSON object a line; "-" is stdin')
    .option('--merge', 'change only the fields that a line has, instead of replacing the profile')
    .option('--strict', 'check the whole file first, then put all of it in, or nothing')
    .option('--prune', 'at the end erase the profiles that the file does not name')
    .addOption(
      new Option(
        '--prune-limit <percent>',
        `the most of all profiles that --prune may erase; default: ${DEFAULT_LIMIT}`,
      ),
    )
    .option('--rejects <path>', 'write the refused lines themselves into this file')
    .addOption(new Option('--from-server', 'what a platform sends to a server, which starts this command').hideHelp())
    .addHelpText(
      'after',
      `
A line replaces the profile that has its id; without aliases, banned or createdAt it leaves these as they are. A bad line
is reported with its number, its id and the reason, and left out; the exit code is then 3, and the rest is in (1 where
nothing is). After ${MAX_LINES_SAID} such lines only their number is told; --json lists 10000, --rejects has all.
A line that wants a name of another profile is tried again at the end, so that two profiles can swap their names. Where
the import can't go on (no room on the disk, say), the sentence tells how many lines are in.
--prune erases nothing where a line was refused, the last line has no line feed, or more than --prune-limit would go: 3.
On a terminal it says how many and asks. {"id":7,"deleted":true} erases a profile, as "profiles erase" does.
customize, discordClean and assets are published as they are. Links to javascript:, vbscript: and data: are dropped.
A profile that would show more than MAX_PROFILE_KIB (64), its links included, is refused.

Examples:
  profilectl profiles import profiles.jsonl
  profilectl profiles import --prune --rejects refused.jsonl profiles.jsonl
  profilectl profiles import --merge --strict changes.jsonl
  zcat profiles.jsonl.gz | profilectl profiles import -`,
    )
    .action(importCommand);
}

/** Of the lines that are refused, a person is shown so many. */
const MAX_LINES_SAID = 20;

async function importCommand(file: string, options: Options, command: Command): Promise<void> {
  if (options.fromServer === true) return (await import('./feed.ts')).importForServer(command);
  const { openSource } = await import('../../shared/profiles/write/import-source.ts');
  const { openRejects } = await import('../../shared/profiles/write/rejects.ts');
  const prune = pruneOptions(file, options, globalsOf(command).yes);
  giveWay();
  if (file === '-' && process.stdin.isTTY)
    notice('Reading lines from the terminal; Ctrl-D on an empty line ends them.');
  // Before a database is made for nothing.
  const nothingChanged = () => refusalOf('cancelled').sentence as string;
  const source = await untilInterrupted(openSource(file, process.stdin), nothingChanged);
  await withContext(command, 'fill', async (context) => {
    const { rejects: path } = options;
    const { databasePath } = context.deps.config;
    const rejects = path === undefined ? undefined : openRejects(path, [file === '-' ? STDIN : file, databasePath]);
    try {
      await importSource(context, source, options, prune, rejects);
    } finally {
      rejects?.close();
    }
  });
}

const STDIN = 0;

/** Throws `usage` for a malformed limit, and where nobody could be asked although a person is there. */
function pruneOptions(file: string, { prune, pruneLimit }: Options, yes: boolean) {
  if (prune !== true) {
    if (pruneLimit !== undefined) throw new AppError('usage', '--prune-limit says nothing without --prune.');
    return null;
  }
  const [, percent] = /^(\d{1,3}(?:\.\d{1,3})?)%$/.exec(pruneLimit ?? DEFAULT_LIMIT) ?? [];
  if (percent === undefined || Number(percent) > 100) {
    throw new AppError('usage', '--prune-limit must be a percentage from 0% to 100%, such as 10%.');
  }
  const asks = isAsking(yes);
  if (asks && file === '-') {
    throw new AppError('usage', '--yes is missing: the lines come from the terminal, so nothing can be asked.');
  }
  return { limitPercent: Number(percent), asks };
}

async function importSource(
  { deps, actor, json }: Context,
  source: ImportSource,
  options: Options,
  prune: ReturnType<typeof pruneOptions>,
  rejects: Rejects | undefined,
): Promise<void> {
  const { effectsOnKeys } = await import('../../shared/erasure/erase-profile.ts');
  const { importProfiles } = await import('../../shared/profiles/write/import.ts');
  const progress = createProgress(deps.clock);
  const said = { lastLine: 0, refused: 0, postponed: 0 };
  const onRefused = (line: RefusedLine): void => {
    said.refused++;
    if (!json && said.refused <= MAX_LINES_SAID) progress.notice(cleanForTerminal(refusedLineText(line)));
  };
  const strict = options.strict === true;
  let outcome: ImportOutcome;
  try {
    const act = importProfiles(deps, source, {
      merge: options.merge === true,
      strict,
      by: actor,
      onKeys: effectsOnKeys(actor),
      ...(prune !== null && { prune: { limitPercent: prune.limitPercent, confirm: confirming(prune.asks, progress) } }),
      ...(rejects !== undefined && { rejects }),
      onProgress: ({ lines, bytes, totalBytes, postponed }) => {
        Object.assign(said, { lastLine: lines, postponed });
        progress.show(lines, bytes, totalBytes);
      },
      onRefused,
      onWarning: (sentence) => progress.notice(`Warning: ${sentence}`),
    });
    // With --strict Ctrl-C ends the process at once: all is one transaction, so nothing was changed.
    outcome = strict ? await act : await untilInterrupted(act, () => interruptedText(said));
  } finally {
    progress.clear();
  }
  const unsaid = said.refused - MAX_LINES_SAID;
  if (!json && unsaid > 0) notice(`… and ${unsaid} more; --rejects keeps them, --json lists them`);
  const { details, ...result } = outcome;
  if (json) printJson(result);
  else printOutcome(outcome, prune !== null);
  const failure = failureOf(outcome, said.refused);
  if (failure !== null) throw failure;
}

/** Asks before profiles are erased, where somebody can be asked. */
function confirming(asks: boolean, progress: ProgressLine): PruneOptions['confirm'] {
  return async (profiles) => {
    if (!asks) return true;
    progress.clear();
    const { confirm } = await import('../prompts.ts');
    const which = profiles === 1 ? 'the one profile' : `the ${profiles} profiles`;
    try {
      return await confirm(`Erase ${which} that the file does not name for good, and stop their API keys?`);
    } catch (error) {
      if (!(error instanceof AppError) || error.code !== 'cancelled') throw error;
      throw new AppError('cancelled', 'Cancelled: the file is in, and nothing was pruned.');
    }
  };
}

/** What is in when Ctrl-C comes; batches are wholly in or out, and each has told its last line. */
function interruptedText({ lastLine, refused, postponed }: { lastLine: number; refused: number; postponed: number }) {
  if (lastLine === 0) return refusalOf('cancelled').sentence as string;
  const waiting = postponed === 1 ? '1 line waited' : `${postponed} lines waited`;
  const buts = [refused > 0 ? refusedText(refused) : [], postponed > 0 ? `${waiting} for names of others` : []].flat();
  const but = buts.length === 0 ? '' : ` (${buts.join(', ')})`;
  return `Interrupted after line ${lastLine}: what stands up to there is in${but}, the rest is not. Import the file again to have all of it.`;
}
