import { isVacuumDue, prepareVacuum } from '../../shared/db-files/vacuum.ts';
import type { ServerDeps } from '../../shared/deps.ts';
import { AppError, fileRefusal } from '../../shared/errors.ts';
import type { Log } from '../observability/log.ts';
import { cantStart } from './own-program.ts';

/** The command `profilectl db vacuum` with its arguments, and how often to check whether one is due. */
export type VacuumOptions = { command: readonly string[]; everyMs?: number };

/** When the server first checks after its start: soon, so that a server that often restarts runs VACUUM at all. */
const FIRST_MS = 1_000;

const EVERY_MS = 60_000;

/** How long the server waits after a VACUUM that failed, for lack of room or otherwise. */
const PAUSE_MS = 3_600_000;

/**
 * How often a VACUUM waits up to a minute for an open import, while other imports wait for it. So it gets its turn between
 * short consecutive imports, and delays little beside one that takes hours.
 */
const PATIENT_EVERY_MS = 600_000;

/** Runs VACUUM when SQLite may have left copies of erased texts in the file. */
export type VacuumTimer = {
  readonly deps: ServerDeps;
  readonly log: Log;
  readonly command: readonly string[];
  readonly everyMs: number;
  isStopping: boolean;
  timer: Timer | null;
  /** The process that runs VACUUM now. */
  child: { kill: (signal: 'SIGKILL') => void } | null;
  /** No VACUUM is tried before this time of the monotonic clock. */
  notBeforeMs: number;
  /** From this time of the monotonic clock on, a VACUUM may wait for imports. */
  patientAtMs: number;
  /** Resolves when the current or last check has ended. */
  look: Promise<void>;
};

/**
 * Checks after a second and then every minute whether a VACUUM is due, and has a child process run it, so that no request
 * waits for it. During an import or an approval it waits for its turn or checks again later. A failure is logged, and
 * retried after an hour.
 */
export function startVacuumTimer(
  deps: ServerDeps,
  log: Log,
  { command, everyMs = EVERY_MS }: VacuumOptions,
): VacuumTimer {
  const vacuumTimer: VacuumTimer = {
    deps,
    log,
    command,
    everyMs,
    isStopping: false,
    timer: null,
    child: null,
    notBeforeMs: Number.NEGATIVE_INFINITY,
    patientAtMs: Number.NEGATIVE_INFINITY,
    look: Promise.resolve(),
  };
  schedule(vacuumTimer, Math.min(FIRST_MS, everyMs));
  return vacuumTimer;
}

/** Starts no further VACUUM, and kills the process of a running one, which leaves the database as it was. */
export async function stopVacuumTimer(vacuumTimer: VacuumTimer): Promise<void> {
  vacuumTimer.isStopping = true;
  if (vacuumTimer.timer !== null) clearTimeout(vacuumTimer.timer);
  vacuumTimer.child?.kill('SIGKILL');
  await vacuumTimer.look;
}

function schedule(vacuumTimer: VacuumTimer, inMs: number): void {
  if (vacuumTimer.isStopping) return;
  const begin = () => {
    vacuumTimer.look = look(vacuumTimer).finally(() => schedule(vacuumTimer, vacuumTimer.everyMs));
  };
  vacuumTimer.timer = setTimeout(begin, inMs).unref();
}

async function look(vacuumTimer: VacuumTimer): Promise<void> {
  const { db, clock } = vacuumTimer.deps;
  if (clock.monotonicMs() < vacuumTimer.notBeforeMs) return;
  try {
    const nowMs = clock.nowMs();
    if (!isVacuumDue(db, nowMs)) return;
    const isPatient = !isFree(vacuumTimer);
    if (isPatient) {
      if (clock.monotonicMs() < vacuumTimer.patientAtMs) return;
      vacuumTimer.patientAtMs = clock.monotonicMs() + PATIENT_EVERY_MS;
    }
    const milliseconds = await runChild(vacuumTimer, isPatient);
    vacuumTimer.log.event('info', `The database was vacuumed in ${milliseconds} ms; it holds no erased text any more.`);
  } catch (cause) {
    if (vacuumTimer.isStopping || (cause instanceof AppError && cause.code === 'busy')) return;
    vacuumTimer.notBeforeMs = clock.monotonicMs() + PAUSE_MS;
    const why = cause instanceof AppError ? cause.message : 'The cause is unknown.';
    vacuumTimer.log.event('warn', `Erased texts may be left in the database, which could not be vacuumed. ${why}`, {
      cause,
    });
  }
}

/**
 * Whether a VACUUM could start now. The child process checks this too; checking here saves starting one in vain. Throws
 * `refused`.
 */
function isFree({ deps: { db, clock } }: VacuumTimer): boolean {
  try {
    prepareVacuum(db, clock, 0).close();
    return true;
  } catch (error) {
    if (error instanceof AppError && error.code === 'busy') return false;
    throw error;
  }
}

/** The exit code of a command that should be tried again later: `try_later` in `shared/errors.ts`. */
const TRY_LATER = 75;

/** Runs VACUUM in a child process. Returns how many milliseconds it took. Throws `busy` or `refused` with the child's sentence. */
async function runChild(vacuumTimer: VacuumTimer, isPatient: boolean): Promise<number> {
  // The environment stays empty: the server's variables hold secrets, and VACUUM needs none of them.
  const child = startChild(isPatient ? [...vacuumTimer.command, '--wait'] : vacuumTimer.command);
  vacuumTimer.child = child;
  try {
    const [stdout, stderr] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()]);
    const code = await child.exited;
    if (code === 0) return (JSON.parse(stdout) as { milliseconds: number }).milliseconds;
    throw new AppError(code === TRY_LATER ? 'busy' : 'refused', sentenceIn(stderr) ?? `It ended with code ${code}.`);
  } finally {
    vacuumTimer.child = null;
  }
}

function startChild(command: readonly string[]) {
  try {
    return Bun.spawn([...command], { env: {}, stdin: 'ignore', stdout: 'pipe', stderr: 'pipe' });
  } catch (cause) {
    throw fileRefusal(cantStart(command, cause), cause);
  }
}

/** The sentence in the last line of a command's standard error, `{"error":"<sentence>"}`; null without one. */
function sentenceIn(stderr: string): string | null {
  try {
    const { error } = JSON.parse(stderr.trimEnd().split('\n').at(-1) ?? '') as { error?: unknown };
    return typeof error === 'string' ? error : null;
  } catch {
    return null;
  }
}
