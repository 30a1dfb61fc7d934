import { type Command, Option } from 'commander';
import { systemClock } from '../../shared/clock.ts';
import { effectsOnKeys } from '../../shared/erasure/erase-profile.ts';
import { AppError, refusalOf } from '../../shared/errors.ts';
import { readAsOf } from '../../shared/profiles/import/as-of.ts';
import { importProfiles } from '../../shared/profiles/import/import.ts';
import { type ImportSource, openSource } from '../../shared/profiles/import/import-source.ts';
import { openRejects, type Rejects } from '../../shared/profiles/import/rejects.ts';
import { globalsOf } from '../context.ts';
import { type Context, withContext } from '../database.ts';
import { lowerPriority } from '../service/lower-priority.ts';
import { notice } from '../terminal/output.ts';
import { isAsking } from '../terminal/values.ts';
import { untilInterrupted } from '../terminal/waiting.ts';
import { importForServer } from './feed.ts';
import { confirmPruning, MAX_LINES_SHOWN, mayOverwrite, showImport } from './show-import.ts';

type Options = {
  merge?: boolean;
  strict?: boolean;
  prune?: boolean;
  pruneLimit?: string;
  asOf?: string;
  rejects?: string;
  fromServer?: string;
};

const DEFAULT_LIMIT = '10%';

/** Adds `profiles import`, which imports JSON Lines, and creates the database if it does not exist. */
export function addTo(parent: Command): void {
  parent
    .command('import')
    .description('Import profiles from a file of JSON Lines, or from stdin with "-".')
    .argument('<file>', 'the file, one JSON object per line; "-" is stdin')
    .option('--merge', 'change only the fields that a line has, instead of replacing the profile')
    .option('--strict', 'check the whole file first, then import all of it or nothing')
    .option('--prune', 'at the end, erase the profiles that are not in the file')
    .addOption(
      new Option(
        '--prune-limit <percent>',
        `the largest share of all profiles that --prune may erase; default: ${DEFAULT_LIMIT}`,
      ),
    )
    .option('--as-of <time>', 'when the data was read, such as 2027-01-31T02:00:00Z: skip profiles that are newer here')
    .option('--rejects <path>', 'write the refused lines to this file, which is emptied first')
    .addOption(new Option('--from-server <program>', 'the server that starts this command for a backend').hideHelp())
    .addHelpText(
      'after',
      `
A line replaces the profile with its id, except that aliases, banned and createdAt are kept if the line lacks them. A line
that breaks a rule is refused: it is skipped and reported with its number, id and reason; the exit code is then 3, or 1 if
nothing was imported. Only the first ${MAX_LINES_SHOWN} refused lines are printed; --json lists up to 10000, --rejects writes all.
A line with a name that another profile has is tried again at the end, so that two profiles can swap names. If the import
stops early, for example because the disk is full, the error says how many lines were imported.
If the --rejects file is not empty, the command asks on a terminal before overwriting it; without a terminal it overwrites the
file only if it has the refused lines of an earlier import.
--as-of says when the data was read, at most 40 days ago. Lines are skipped and counted if their profiles were written, banned
or erased here since then, by a backend or a command; --prune spares such profiles.
--prune erases nothing, and the exit code is 3, if a line was refused, the last line has no line feed, or more than
--prune-limit would be erased. On a terminal it asks first. The line {"id":7,"deleted":true} erases one profile.
customize, discordClean and assets are published as they are. Links to javascript:, vbscript: and data: are dropped.
A profile whose public fields and links exceed MAX_PROFILE_KIB (default: 64) is refused.

Examples:
  profilectl profiles import profiles.jsonl
  profilectl profiles import --prune --rejects refused.jsonl profiles.jsonl
  profilectl profiles import --merge --strict changes.jsonl
  profilectl profiles import --prune --as-of "$(cat profiles.jsonl.as-of)" profiles.jsonl
  zcat profiles.jsonl.gz | profilectl profiles import -`,
    )
    .action(importCommand);
}

async function importCommand(file: string, options: Options, command: Command): Promise<void> {
  const { fromServer } = options;
  if (fromServer !== undefined) return importForServer(command, fromServer);
  const prune = pruneOptions(file, options, globalsOf(command).yes);
  const asOf = asOfOption(options);
  lowerPriority();
  if (file === '-' && process.stdin.isTTY)
    notice('Reading lines from the terminal; press Ctrl-D on an empty line to finish.');
  // Opened first, so that no database is created if the file can't be read.
  const nothingChanged = () => refusalOf('cancelled').sentence as string;
  const source = await untilInterrupted(openSource(file, process.stdin), nothingChanged);
  const input = file === '-' ? STDIN : file;
  await withContext(command, 'fill', (context) => {
    const file = { input, databasePath: context.deps.config.databasePath, yes: context.yes };
    return withRejects(options.rejects, file, (rejects) =>
      importSource(context, source, { ...options, ...asOf }, prune, rejects),
    );
  });
}

const STDIN = 0;

type AsOf = { asOfMs?: number };

/** The time of --as-of. Throws `usage` if it is invalid. */
function asOfOption({ asOf }: Options): AsOf {
  if (asOf === undefined) return {};
  const read = readAsOf(asOf.trim(), systemClock.nowMs());
  if ('fault' in read) throw new AppError('usage', `--as-of ${read.fault}.`);
  return { asOfMs: read.atMs };
}

/** Runs `act` with the file of --rejects, if one is given. Throws what `openRejects` throws. */
async function withRejects(
  path: string | undefined,
  { input, databasePath, yes }: { input: string | number; databasePath: string; yes: boolean },
  act: (rejects: Rejects | undefined) => Promise<void>,
): Promise<void> {
  if (path === undefined) return act(undefined);
  const rejects = await openRejects(path, { inputs: [input], databasePath }, (held) =>
    mayOverwrite(path, held, input !== STDIN && isAsking(yes)),
  );
  try {
    await act(rejects);
  } finally {
    rejects.close();
  }
}

/** The options of --prune, null without it. Throws `usage` for a malformed limit, and if stdin can't be used for prompts. */
function pruneOptions(file: string, { prune, pruneLimit }: Options, yes: boolean) {
  if (prune !== true) {
    if (pruneLimit !== undefined) throw new AppError('usage', '--prune-limit needs --prune.');
    return null;
  }
  const [, percent] = /^(\d{1,3}(?:\.\d{1,3})?)%$/.exec(pruneLimit ?? DEFAULT_LIMIT) ?? [];
  if (percent === undefined || Number(percent) > 100) {
    throw new AppError('usage', '--prune-limit must be a percentage from 0% to 100%, such as 10%.');
  }
  const asks = isAsking(yes);
  if (asks && file === '-') {
    throw new AppError('usage', 'Cannot prompt (the lines come from stdin); add --yes.');
  }
  return { limitPercent: Number(percent), asks };
}

async function importSource(
  { deps, actor, json }: Context,
  source: ImportSource,
  { merge = false, strict = false, asOfMs }: Options & AsOf,
  prune: ReturnType<typeof pruneOptions>,
  rejects: Rejects | undefined,
): Promise<void> {
  // With --strict the whole import is one transaction.
  const display = { clock: deps.clock, json, isPruning: prune !== null, endsAtOnce: strict };
  await showImport(display, (callbacks, progress) => {
    const confirm = async (profiles: number, changes: readonly string[]) =>
      prune?.asks !== true || (await confirmPruning(profiles, changes, progress));
    return importProfiles(deps, source, {
      merge,
      strict,
      ...(asOfMs !== undefined && { asOfMs }),
      by: actor,
      onKeys: effectsOnKeys(actor),
      ...(prune !== null && { prune: { limitPercent: prune.limitPercent, confirm } }),
      ...(rejects !== undefined && { rejects }),
      ...callbacks,
    });
  });
}
