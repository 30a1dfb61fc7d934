import type { Command } from 'commander';
import { isoTime } from '../shared/clock.ts';
import type { Config } from '../shared/config/config.ts';
import { AppError } from '../shared/errors.ts';
import { cleanForTerminal } from '../shared/text.ts';
import type { ErasureStatus } from '../shared/upkeep/erasure-status.ts';
import type { NoticeStatus } from '../shared/upkeep/notice-status.ts';
import type { Status } from '../shared/upkeep/status.ts';
import { askServer, serverUrl } from './ask-server.ts';
import { configOf, globalsOf } from './context.ts';
import { sizeText } from './db/steps.ts';
import { ageText } from './keys/print.ts';
import { counted, print, printJson, table } from './output.ts';

/** What the running server says; null is what it was not asked, or does not tell. */
type ServerState = {
  running: boolean;
  url: string | null;
  ready: boolean | null;
  startedAt: string | null;
  requests: number | null;
  requestsPerSecond: number | null;
};

/** `status`: how the service is, on one screen. */
export function addTo(command: Command): void {
  command
    .addHelpText(
      'after',
      `
It reads the same variables as "serve". With METRICS_TOKEN it asks the server how long it has been up and, for a second,
how many API requests it answers. Warnings do not change the exit code.

Examples:
  profilectl status
  profilectl status --json | jq -r '.warnings[]'`,
    )
    .action(async (_options: unknown) => {
      const globals = globalsOf(command);
      const config = configOf(globals);
      const { closeDatabase, openDatabase } = await import('../shared/db/open.ts');
      const { createDeps } = await import('../shared/deps.ts');
      const { readStatus } = await import('../shared/upkeep/status.ts');
      const db = openDatabase(config.databasePath, 'look');
      try {
        const deps = createDeps(db, config);
        const { isServed, ...status } = readStatus(deps);
        const { state, warning } = await askState(config, isServed);
        const shown = { ...status, warnings: [...status.warnings, ...warning] };
        if (globals.json) printJson({ server: state, ...shown });
        else print(statusText(state, shown, deps.clock.nowMs()));
      } finally {
        closeDatabase(db);
      }
    });
}

const UNKNOWN = { url: null, ready: null, startedAt: null, requests: null, requestsPerSecond: null };

/**
 * What the server that holds the database's lock says, and a sentence where it does not say what it should. Where the lock
 * does not tell (`isServed` is null), the server runs if it answers.
 */
async function askState(config: Config, isServed: boolean | null): Promise<{ state: ServerState; warning: string[] }> {
  let state: ServerState = { running: isServed !== false, ...UNKNOWN };
  if (isServed === false) return { state, warning: [] };
  try {
    const url = serverUrl(config, '/readyz');
    const { status } = await askServer(url);
    state = { ...state, url: url.origin, ready: status === 200 };
    if (status !== 200) return { state, warning: [`The server answers ${status} when asked whether it is ready.`] };
    if (config.metricsToken !== null) state = { ...state, ...(await measure(config, config.metricsToken)) };
    return { state, warning: [] };
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    if (isServed === null) return { state: { running: false, ...UNKNOWN }, warning: [] };
    return { state, warning: [`A server holds the database, but it can't be asked: ${error.message}`] };
  }
}

const SAMPLE_MS = 1_000;

/** Reads the metrics twice. */
async function measure(config: Config, token: string) {
  const read = async () => {
    const { status, body } = await askServer(serverUrl(config, '/metrics'), token);
    if (status !== 200) throw new AppError('refused', `/metrics answers ${status}; is METRICS_TOKEN the server's?`);
    return body;
  };
  const first = await read();
  await Bun.sleep(SAMPLE_MS);
  const requests = apiRequests(await read());
  const started = /^process_start_time_seconds (\S+)$/m.exec(first)?.[1];
  return {
    startedAt: started === undefined ? null : isoTime(Math.round(Number(started) * 1000)),
    requests,
    requestsPerSecond: ((requests - apiRequests(first)) * 1000) / SAMPLE_MS,
  };
}

/** How many requests below /api the server has answered. */
function apiRequests(metrics: string): number {
  const lines = metrics.matchAll(/^profile_lookup_http_requests_total\{route="\/api[^"]*",[^}]*\} (\S+)$/gm);
  return [...lines].reduce((sum, [, count]) => sum + Number(count), 0);
}

function statusText(server: ServerState, status: Omit<Status, 'isServed'>, nowMs: number): string {
  const {
    schema,
    database,
    quotas,
    keys,
    queue,
    openAttempts,
    lastBackup,
    lastRestoreTest,
    erasure,
    notices,
    warnings,
  } = status;
  const isNewest = schema.applied === schema.known;
  const facts: [string, string][] = [
    ['Version', `${status.version}, schema ${schema.applied}${isNewest ? '' : ` (this version has ${schema.known})`}`],
    ['Server', serverText(server, nowMs)],
    ['Database', `${database.path}, ${sizeText(database.bytes)}, write-ahead log ${sizeText(database.walBytes)}`],
    ['Quotas', quotas === null ? 'no file yet' : `${quotas.path}, ${sizeText(quotas.bytes)}`],
    ['Keys', keys === null ? 'not known' : keysLine(keys)],
    ['Queue', queueLine(queue, nowMs)],
    ['Approvals', openAttempts === 0 ? 'none under way' : `${openAttempts} under way`],
    ['Mails', notices === null ? 'not known' : mailsLine(notices, nowMs)],
    ['Last backup', lastDoneText(lastBackup, 'to', nowMs)],
    ['Restore test', lastDoneText(lastRestoreTest, 'of', nowMs)],
    ['Erased', erasure === null ? 'not known' : tracesLine(erasure, nowMs)],
    ['Not reached', `by erasing: ${notReachedLine(erasure)}`],
  ];
  const lines = facts.map(([label, value]) => `${label.padEnd(13)}${cleanForTerminal(value)}`);
  const remarks = warnings.map((text) => `Warning: ${cleanForTerminal(text)}`);
  const undelivered = undeliveredLines(notices);
  return [...lines, ...undelivered, '', ...(remarks.length === 0 ? ['No warnings.'] : remarks)].join('\n');
}

function lastDoneText(last: Status['lastBackup'], preposition: string, nowMs: number): string {
  return last === null ? 'none' : `${ageText(last.at, nowMs)} ago, ${preposition} ${last.file}`;
}

function serverText(
  { running, url, ready, startedAt, requests, requestsPerSecond }: ServerState,
  nowMs: number,
): string {
  if (!running) return 'not running';
  const parts = [url === null ? 'running' : `running on ${url}`];
  if (ready !== null) parts.push(ready ? 'ready' : 'not ready');
  if (startedAt !== null) parts.push(`up for ${ageText(startedAt, nowMs)}`);
  if (requests !== null) parts.push(`${counted(requests, 'API request')} since then, ${requestsPerSecond}/s now`);
  return parts.join(', ');
}

function keysLine(keys: NonNullable<Status['keys']>): string {
  const there = Object.entries(keys).filter(([, count]) => count > 0);
  return there.length === 0 ? 'none' : there.map(([state, count]) => `${count} ${state}`).join(', ');
}

function queueLine({ pending, oldestAt }: Status['queue'], nowMs: number): string {
  if (pending === 0 || oldestAt === null) return 'empty';
  return `${counted(pending, 'request')}, the oldest waiting for ${ageText(oldestAt, nowMs)}`;
}

function mailsLine({ waiting, oldestAt, undelivered }: NoticeStatus, nowMs: number): string {
  if (undelivered.length === 0) return 'all delivered';
  const since = oldestAt === null ? '' : `, the oldest for ${ageText(oldestAt, nowMs)}`;
  const rest = undelivered.length - waiting;
  return `${waiting} to be tried again${since}${rest === 0 ? '' : `; ${rest} given up within 30 days`}`;
}

/** So many undelivered mails are shown; `--json` has all. */
const SHOWN_MAILS = 10;

/** The latest undelivered mails as a table, after an empty line; nothing where there are none. */
function undeliveredLines(notices: NoticeStatus | null): string[] {
  const latest = notices?.undelivered.slice(-SHOWN_MAILS) ?? [];
  if (latest.length === 0) return [];
  const rows = latest.map((mail) => [
    mail.at,
    mail.identifier,
    mail.kind,
    mail.to,
    `${mail.result}, tried ${mail.tries === 1 ? 'once' : `${mail.tries} times`}`,
    mail.reason ?? '',
  ]);
  return ['', table(['Since', 'Key', 'Mail', 'To', 'State', 'Why'], rows)];
}

function tracesLine({ tracesSince, vacuumedAt }: ErasureStatus, nowMs: number): string {
  const vacuumed = vacuumedAt === null ? '' : `, vacuumed ${ageText(vacuumedAt, nowMs)} ago`;
  if (tracesSince === null) return `no erased text is left in the file${vacuumed}`;
  return `texts may be left in the file since ${tracesSince}, until it is vacuumed${vacuumed}`;
}

/** What an erasure does not reach: the files that are known by name, and kinds of files that may be anywhere. */
function notReachedLine(erasure: ErasureStatus | null): string {
  const { keptCopies = [], mailFolder = null } = erasure ?? {};
  const known = [...keptCopies, ...(mailFolder === null ? [] : [`mails in ${mailFolder}`])];
  return [...known, 'backups, exports, rejected lines, sent mails and logs'].join(', ');
}
