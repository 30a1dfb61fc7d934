import { resolve } from 'node:path';
import type { Command } from 'commander';
import { userName } from '../../shared/actor.ts';
import { readEnvironment } from '../../shared/config/environment.ts';
import { guardDatabase } from '../../shared/db/faults.ts';
import { createDeps } from '../../shared/deps.ts';
import { openDatabase } from '../../shared/files/open.ts';
import { readStatus, type Status } from '../../shared/files/status.ts';
import type { MailStatus } from '../../shared/mail/delivery.ts';
import { bytesText, cleanForTerminal } from '../../shared/text.ts';
import { configOf, globalsOf } from '../context.ts';
import { lastImportText } from '../profiles/import-report.ts';
import { ageText, counted, outputColumns, print, printJson, table, timeCell, wrapLine } from '../terminal/output.ts';
import { askState, type ServerState, serverText } from './ask-server.ts';

/** Adds `status`, which shows the state of the service. */
export function addStatus(program: Command): void {
  program
    .command('status')
    .description('Show what needs attention, or everything with --all.')
    .option('--all', 'also what is well')
    .addHelpText(
      'after',
      `
Use the same --env-file as for "serve". Warnings do not change the exit code.

Examples:
  profilectl status
  profilectl status --all
  profilectl status --json`,
    )

    .action(async ({ all = false }: { all?: boolean }, command: Command) => {
      const globals = globalsOf(command);
      const config = configOf(globals);
      const db = openDatabase(config.databasePath, 'use');
      try {
        const deps = createDeps(db, config);
        const { isServed, ...status } = guardDatabase(config.databasePath, () => readStatus(deps));
        const { state, warning } = await askState(config, isServed);
        const shown = {
          ...status,
          warnings: [...status.warnings, ...warning, ...(state.running ? [] : ['The server is not running.'])],
        };
        const { file } = readEnvironment(globals);
        const environment = { user: userName(), files: file === null ? [] : [resolve(file)] };
        if (globals.json) printJson({ server: state, environment, ...shown });
        else print(statusText(state, environment, shown, deps.clock.nowMs(), all));
      } finally {
        db.$client.close();
      }
    });
}

/** Who ran this command, and the files that its variables come from. */
type Origin = { user: string; files: string[] };

function statusText(
  server: ServerState,
  environment: Origin,
  status: Omit<Status, 'isServed'>,
  nowMs: number,
  all: boolean,
): string {
  const { schema, database, profiles, keys, queue, openAttempts, mails, signIns, lastBackup, warnings } = status;
  const facts: [string, string][] = [
    ['Version', `${status.version}, schema ${schema}`],
    ['Server', serverText(server)],
    ['Variables', environmentText(environment, server.running)],
    ['Database', `${database.path}, ${bytesText(database.bytes)}, write-ahead log ${bytesText(database.walBytes)}`],
    ['Disk', status.disk === null ? 'unknown' : diskLine(status.disk)],
    ['Profiles', `${profiles.total}, of which ${profiles.banned} banned`],
    ['Keys', keysLine(keys)],
    ['Queue', queueLine(queue, nowMs)],
    ['Approvals', openAttempts === 0 ? 'none under way' : `${openAttempts} under way`],
    ['Mails', mailsLine(mails, nowMs)],
    ['Signed in', counted(signIns, 'browser')],
    ['Last import', lastImportText(status.lastImport, nowMs)],
    ['Last feed', lastImportText(status.lastFeed, nowMs)],
    ['Last backup', lastBackup === null ? 'none' : `${ageText(lastBackup.at, nowMs)} ago`],
    ['Erased text', status.isVacuumWanted ? 'removed from the file by the next nightly VACUUM' : 'none in the file'],
  ];
  const lines = facts.map(([label, value]) => `${label.padEnd(13)}${cleanForTerminal(value)}`);
  const remarks = warnings.map((text) => `Warning: ${cleanForTerminal(text)}`);
  const needed = [...undeliveredLines(mails, nowMs), ...(remarks.length === 0 ? ['All well.'] : remarks)];
  return [...(all ? [...lines, ''] : []), ...needed].join('\n');
}

function environmentText({ user, files }: Origin, isRunning: boolean): string {
  const others = isRunning ? '; the running server may use others' : '';
  return `read by this command as the user ${user} from ${['the environment', ...files].join(' and ')}${others}`;
}

function diskLine({ freeBytes, totalBytes }: NonNullable<Status['disk']>): string {
  return `${bytesText(freeBytes)} of ${bytesText(totalBytes)} free`;
}

function keysLine(keys: Status['keys']): string {
  const states = Object.entries(keys).filter(([, count]) => count > 0);
  return states.length === 0 ? 'none' : states.map(([state, count]) => `${count} ${state}`).join(', ');
}

function queueLine({ pending, oldestAt }: Status['queue'], nowMs: number): string {
  if (pending === 0 || oldestAt === null) return 'empty';
  return `${counted(pending, 'request')}, the oldest waiting for ${ageText(oldestAt, nowMs)}`;
}

function mailsLine({ waiting, oldestAt, undelivered }: MailStatus, nowMs: number): string {
  if (undelivered.length === 0) return 'none overdue';
  const since = oldestAt === null ? '' : `, the oldest for ${ageText(oldestAt, nowMs)}`;
  const rest = undelivered.length - waiting;
  return `${waiting} to be retried${since}${rest === 0 ? '' : `; ${rest} abandoned in the last 30 days`}`;
}

/** `--json` has all. */
const MAX_MAILS_SHOWN = 10;

const INDENT = '  ';

/** The latest undelivered mails as a table, each with its tries and the reason below. */
function undeliveredLines({ undelivered }: MailStatus, nowMs: number): string[] {
  const latest = undelivered.slice(-MAX_MAILS_SHOWN);
  if (latest.length === 0) return [];
  const rows = latest.map(({ at, identifier, uid, kind, to, result }) => {
    return [timeCell(at, nowMs), identifier ?? (uid === null ? '' : `profile ${uid}`), kind, to, result];
  });
  const [heads = '', ...lines] = table(['Since', 'About', 'Mail', 'To', 'State'], rows).split('\n');
  const columns = (outputColumns() || Number.POSITIVE_INFINITY) - INDENT.length;
  const below = latest.map(({ tries, reason }) => {
    const text = reason === null ? triesText(tries) : `${triesText(tries)}: ${cleanForTerminal(reason)}`;
    return wrapLine(text, columns).map((line) => INDENT + line);
  });
  return [heads, ...lines.flatMap((line, at) => [line, ...(below[at] ?? [])]), ''];
}

function triesText(tries: number): string {
  if (tries === 0) return 'not tried yet';
  return `tried ${tries === 1 ? 'once' : `${tries} times`}`;
}
