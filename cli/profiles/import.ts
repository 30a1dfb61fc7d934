import { existsSync } from 'node:fs';
import { type Command, Option } from 'commander';
import { systemClock } from '../../shared/clock.ts';
import { AppError } from '../../shared/errors.ts';
import { importProfiles, readAsOf } from '../../shared/profiles/import/import.ts';
import { type ImportSource, openRejects, openSource, type Rejects } from '../../shared/profiles/import/source.ts';
import { type Context, configOf, globalsOf, withContext } from '../context.ts';
import { lowerPriority } from '../service/own-program.ts';
import { notice } from '../terminal/output.ts';
import { isAsking } from '../terminal/values.ts';
import { confirmPruning, showImport } from './import-report.ts';

type Options = {
  merge?: boolean;
  strict?: boolean;
  prune?: boolean;
  pruneLimit?: string;
  asOf?: string;
  rejects?: string;
};

const DEFAULT_LIMIT = '10%';

/** Adds `profiles import`, which imports JSON Lines, and creates the database if it does not exist. */
export function addImport(profiles: Command): void {
  profiles
    .command('import')
    .description('Import profiles from a file of JSON Lines, or from stdin with "-".')
    .argument('<file>', 'one JSON object per line; "-" is stdin')
    .option('--merge', 'change only the fields that a line has')
    .option('--strict', 'import all of the file or nothing')
    .option('--prune', 'then erase the profiles that are not in the file')
    .addOption(new Option('--prune-limit <percent>', `the share of profiles that --prune may erase (${DEFAULT_LIMIT})`))
    .option('--as-of <time>', 'when the data was read: what is newer here wins')
    .option('--rejects <path>', 'write the refused lines to this file')
    .addHelpText(
      'after',
      `
A bad line is skipped and reported: exit code 3, or 1 if nothing was imported.
{"id":7,"deleted":true} erases a profile. --prune erases nothing if a line was
refused or if it would erase more than --prune-limit; the exit code is then 3.

Examples:
  profilectl profiles import profiles.jsonl
  zcat profiles.jsonl.gz | profilectl profiles import -`,
    )
    .action(importCommand);
}

async function importCommand(file: string, options: Options, command: Command): Promise<void> {
  const prune = pruneOptions(file, options, globalsOf(command).yes);
  const asOf = asOfOption(options);
  lowerPriority();
  if (file === '-' && process.stdin.isTTY)
    notice('Reading lines from the terminal; press Ctrl-D on an empty line to finish.');
  // Opened first, so that no database is created if the file can't be read.
  const source = await openSource(file, process.stdin);
  const isNew = !existsSync(configOf(globalsOf(command)).databasePath);
  await withContext(command, 'fill', async (context) => {
    const { databasePath } = context.deps.config;
    const { rejects: path } = options;
    const rejects = path === undefined ? undefined : openRejects(path, file === '-' ? STDIN : file, databasePath);
    try {
      await importSource(context, source, { ...options, ...asOf, isNew }, prune, rejects);
    } finally {
      rejects?.close();
    }
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
  { merge = false, strict = false, asOfMs, isNew }: Options & AsOf & { isNew: boolean },
  prune: ReturnType<typeof pruneOptions>,
  rejects: Rejects | undefined,
): Promise<void> {
  const { databasePath } = deps.config;
  const display = { clock: deps.clock, json, database: isNew ? `${databasePath} (created)` : databasePath };
  await showImport(display, (callbacks, progress) => {
    const confirm = async (profiles: number) => prune?.asks !== true || (await confirmPruning(profiles, progress));
    return importProfiles(deps, source, {
      merge,
      strict,
      ...(asOfMs !== undefined && { asOfMs }),
      by: actor,
      config: deps.config,
      ...(prune !== null && { prune: { limitPercent: prune.limitPercent, confirm } }),
      ...(rejects !== undefined && { rejects }),
      ...callbacks,
    });
  });
}
