import type { Deps } from '../../shared/deps.ts';
import { AppError, fileRefusal } from '../../shared/errors.ts';
import { databaseSize, isVacuumWanted, MAX_LOG_BYTES } from '../../shared/files/disk.ts';
import type { Log } from '../observability/log.ts';
import { type Repeating, repeat } from './repeating.ts';

/** The command `profilectl db vacuum` with its arguments, and how often to check whether one is due. */
export type VacuumOptions = { command: readonly string[]; everyMs?: number };

const EVERY_MS = 600_000;

/** The first check is soon, so that a server that is restarted often runs VACUUM at all. */
const FIRST_MS = 1_000;

/** A VACUUM begins between these hours of the machine's own time: writes wait for it, and then hardly anybody writes. */
const NIGHT = { from: 2, to: 5 };

type Child = { kill: (signal: 'SIGKILL') => void };

/**
 * Runs VACUUM at night if SQLite may have left copies of erased text in the file: in a child process, so that no request
 * waits for it. A failure is logged, and tried again ten minutes later, until the night is over. Stopping kills the
 * child, which leaves the database unchanged.
 */
export function startVacuumTimer(
  { db, clock }: Deps,
  log: Log,
  { command, everyMs = EVERY_MS }: VacuumOptions,
): Repeating {
  let isStopping = false;
  let child: Child | null = null;
  const check = async () => {
    try {
      const hour = new Date(clock.nowMs()).getHours();
      if (hour < NIGHT.from || hour >= NIGHT.to || !isVacuumWanted(db)) return everyMs;
      const milliseconds = await runChild(command, (started) => {
        child = started;
      });
      log.event('info', `The database was vacuumed in ${milliseconds} ms; it no longer contains erased text.`);
    } catch (cause) {
      if (isStopping || (cause instanceof AppError && cause.code === 'busy')) return everyMs;
      const why = cause instanceof AppError ? cause.message : 'The cause is unknown.';
      log.event('warn', `Erased text may remain in the database, which could not be vacuumed. ${why}`, { cause });
    } finally {
      child = null;
    }
    return everyMs;
  };
  const timer = repeat(check, Math.min(FIRST_MS, everyMs));
  const stop = () => {
    isStopping = true;
    child?.kill('SIGKILL');
    return timer.stop();
  };
  return { ...timer, stop };
}

/** How often the length of the write-ahead log is looked at, and the pause after a child was started to empty it. */
const LOOK_MS = 1_000;
const LOG_PAUSE_MS = 10_000;

/**
 * Has a child process empty the write-ahead log when it has grown long: a checkpoint in the server would hold up every
 * request. A failure is logged once, and tried again after a pause; the last connection that is closed empties the log, too.
 */
export function startLogTimer({ config }: Pick<Deps, 'config'>, log: Log, { command }: VacuumOptions): Repeating {
  let isFailing = false;
  return repeat(async () => {
    try {
      // Throws, too, if the disk fails or somebody takes the folder from this user.
      const isLong = databaseSize(config.databasePath).wal >= MAX_LOG_BYTES;
      if (isLong) await runChild([...command, '--log-only'], () => {});
      isFailing = false;
      return isLong ? LOG_PAUSE_MS : LOOK_MS;
    } catch (cause) {
      if (!isFailing) log.event('warn', 'The write-ahead log could not be emptied, and grows.', { cause });
      isFailing = true;
      return LOG_PAUSE_MS;
    }
  }, LOOK_MS);
}

/** The exit code of a command that should be tried again later: `try_later` in `shared/errors.ts`. */
const TRY_LATER = 75;

/** Runs VACUUM in a child process, and returns its milliseconds. Throws `busy` or `refused` with the child's sentence. */
async function runChild(command: readonly string[], onStarted: (child: Child) => void): Promise<number> {
  const child = startChild(command);
  onStarted(child);
  const [stdout, stderr] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()]);
  const code = await child.exited;
  if (code === 0) return (JSON.parse(stdout) as { milliseconds: number }).milliseconds;
  throw new AppError(code === TRY_LATER ? 'busy' : 'refused', sentenceIn(stderr) ?? `It ended with code ${code}.`);
}

function startChild(command: readonly string[]) {
  try {
    // The environment stays empty: the server's variables hold secrets, and VACUUM needs none of them.
    return Bun.spawn([...command], { env: {}, stdin: 'ignore', stdout: 'pipe', stderr: 'pipe' });
  } catch (cause) {
    throw fileRefusal(cantStart(command, cause), cause);
  }
}

/** The sentence in the last line of a command's standard error, `{"error":"<sentence>"}`; null if there is none. */
function sentenceIn(stderr: string): string | null {
  try {
    const { error } = JSON.parse(stderr.trimEnd().split('\n').at(-1) ?? '') as { error?: unknown };
    return typeof error === 'string' ? error : null;
  } catch {
    return null;
  }
}

/** The sentence if a `command` of the server's own program can't be started; `error` was thrown by Bun.spawn. */
function cantStart([program]: readonly string[], error: unknown): string {
  const code = (error as { code?: string }).code ?? 'unknown error';
  return `${program} can't be started (${code}). If it was moved or removed by an upgrade, restart the server.`;
}
