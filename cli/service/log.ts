import type { Command } from 'commander';
import { isoTime } from '../../shared/clock.ts';
import { AppError } from '../../shared/errors.ts';
import { parseTime } from '../../shared/keys/inputs.ts';
import {
  isLogCursor,
  isLogKind,
  LOG_GROUPS,
  type LogEntry,
  type LogFilter,
  PAST_SYNTAX,
  readLog,
} from '../../shared/log.ts';
import { type Context, commandLine, globalsOf, withContext } from '../context.ts';
import { notice, print, printJson, table } from '../terminal/output.ts';
import { collect, wholeNumber } from '../terminal/values.ts';

type Options = { since?: string; by?: string; kind?: string[]; limit?: string; after?: string };

/** The default limit on a terminal. */
const PAGE_SIZE = 50;

const MAX_LIMIT = 1_000_000_000;

/** Adds `log`, which lists the audit log. */
export function addLog(program: Command): void {
  const groups = LOG_GROUPS.map(({ group }) => group).join(', ');
  program
    .command('log')
    .description('Show what people did to keys, profiles, admins and tokens.')
    .option('--since <time>', `only entries since this time: ${PAST_SYNTAX}`)
    .option('--by <who>', 'by the person with this name, or all by operator, admin, owner or backend')
    .option('--kind <kind>', `one of ${groups}, or a kind that --json shows; may be repeated`, collect)
    .option('--limit <n>', 'at most this many; default: 50 on a terminal, otherwise all')
    .option('--after <cursor>', 'only entries after this cursor, the "next" of a page')
    .addHelpText(
      'after',
      `
Reasons, names of keys and other texts are not included; "keys show" has them.

Examples:
  profilectl log --since 7d
  profilectl log --kind bans --kind erasures`,
    )
    .action((options: Options, command: Command) =>
      withContext(command, 'use', (context) => list(command, context, options)),
    );
}

function list(command: Command, { deps, json }: Context, options: Options): void {
  const filter = filterOf(options, deps.clock.nowMs());
  const isPage = process.stdout.isTTY && !json;
  const limit =
    options.limit === undefined
      ? isPage
        ? PAGE_SIZE
        : MAX_LIMIT
      : wholeNumber('--limit', options.limit, 1, MAX_LIMIT);
  const { entries, next } = readLog(deps.db, limit, filter);
  if (json) printJson({ entries: entries.map(jsonOf), next });
  else print(entries.length === 0 ? 'No entries.' : logText(entries));
  if (next !== null && !json) {
    notice(`\nNext page: ${commandLine('log', [...flagsOf(options), '--after', next], globalsOf(command))}`);
  }
}

/** The entries as a table, which a narrow terminal wraps. */
function logText(entries: readonly LogEntry[]): string {
  const when = (atMs: number) => isoTime(atMs).slice(0, 19).replace('T', ' ');
  return table(
    ['When (UTC)', 'Who', 'What'],
    entries.map(({ atMs, by, text }) => [when(atMs), by, text]),
  );
}

function jsonOf({ atMs, by, kind, identifier, profile }: LogEntry) {
  return { at: isoTime(atMs), by, kind, identifier, profile };
}

function filterOf({ since, by, kind, after }: Options, nowMs: number): LogFilter {
  const sinceMs = since === undefined ? undefined : parseTime(since, nowMs, -1);
  if (sinceMs === null) throw new AppError('usage', `--since must be ${PAST_SYNTAX}.`);
  if (kind?.every(isLogKind) === false) {
    const words = LOG_GROUPS.map(({ group }) => group).join(', ');
    throw new AppError('usage', `Unknown --kind; it is one of ${words}, or a kind that --json shows.`);
  }
  if (after !== undefined && !isLogCursor(after)) {
    throw new AppError('usage', '--after must be the "next" of an earlier page.');
  }
  return { sinceMs, by: by?.trim(), kinds: kind, after };
}

/** The filters as typed. */
function flagsOf({ since, by, kind, limit }: Options): string[] {
  return [
    ...(since === undefined ? [] : ['--since', since]),
    ...(by === undefined ? [] : ['--by', by]),
    ...(kind ?? []).flatMap((one) => ['--kind', one]),
    ...(limit === undefined ? [] : ['--limit', limit]),
  ];
}
