import { isVacuumDue, prepareVacuum } from '../../shared/db-files/vacuum.ts';
import type { ServerDeps } from '../../shared/deps.ts';
import { AppError, fileRefusal } from '../../shared/errors.ts';
import type { Log } from '../observability/log.ts';
import { cantStart } from './own-program.ts';
import { type Repeating, repeat } from './repeating.ts';

/** The command `profilectl db vacuum` with its arguments, and how often to check whether one is due. */
export type VacuumOptions = { command: readonly string[]; everyMs?: number };

/** When the server first checks: soon, so that a server that often restarts runs VACUUM at all. */
const FIRST_MS = 1_000;

const EVERY_MS = 60_000;

/** How long the server waits after a failed VACUUM. */
const PAUSE_MS = 3_600_000;

/**
 * How often a VACUUM waits up to a minute for an open import, while other imports wait for it. So it runs between short
 * consecutive imports, and hardly delays an import that takes hours.
 */
const PATIENT_EVERY_MS = 600_000;

type Vacuuming = {
  readonly deps: ServerDeps;
  readonly log: Log;
  readonly command: readonly string[];
  isStopping: boolean;
  child: { kill: (signal: 'SIGKILL') => void } | null;
  /** No VACUUM starts before this time of the monotonic clock. */
  notBeforeMs: number;
  /** From this time of the monotonic clock on, a VACUUM may wait for imports. */
  patientAtMs: number;
};

/**
 * Checks after a second, and then every minute, whether SQLite may have left copies of erased text in the file. If so, a child
 * process runs VACUUM, so that no request waits for it. During an import or an approval it waits, or checks again later. A
 * failure is logged, and retried after an hour. Stopping kills the child, which leaves the database unchanged.
 */
export function startVacuumTimer(
  deps: ServerDeps,
  log: Log,
  { command, everyMs = EVERY_MS }: VacuumOptions,
): Repeating {
  const never = Number.NEGATIVE_INFINITY;
  const vacuuming: Vacuuming = {
    ...{ deps, log, command, isStopping: false, child: null, notBeforeMs: never, patientAtMs: never },
  };
  const check = async () => {
    await vacuumIfDue(vacuuming);
    return everyMs;
  };
  const timer = repeat(check, Math.min(FIRST_MS, everyMs));
  const stop = () => {
    vacuuming.isStopping = true;
    vacuuming.child?.kill('SIGKILL');
    return timer.stop();
  };
  return { ...timer, stop };
}

async function vacuumIfDue(vacuuming: Vacuuming): Promise<void> {
  const { db, clock } = vacuuming.deps;
  if (clock.monotonicMs() < vacuuming.notBeforeMs) return;
  try {
    const nowMs = clock.nowMs();
    if (!isVacuumDue(db, nowMs)) return;
    const isPatient = !isFree(vacuuming);
    if (isPatient) {
      if (clock.monotonicMs() < vacuuming.patientAtMs) return;
      vacuuming.patientAtMs = clock.monotonicMs() + PATIENT_EVERY_MS;
    }
    const milliseconds = await runChild(vacuuming, isPatient);
    vacuuming.log.event('info', `The database was vacuumed in ${milliseconds} ms; it no longer contains erased text.`);
  } catch (cause) {
    if (vacuuming.isStopping || (cause instanceof AppError && cause.code === 'busy')) return;
    vacuuming.notBeforeMs = clock.monotonicMs() + PAUSE_MS;
    const why = cause instanceof AppError ? cause.message : 'The cause is unknown.';
    vacuuming.log.event('warn', `Erased text may remain in the database, which could not be vacuumed. ${why}`, {
      cause,
    });
  }
}

/** Whether a VACUUM could start now. The child process checks this too; checking here saves starting it in vain. */
function isFree({ deps: { db, clock } }: Vacuuming): boolean {
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

/** Runs VACUUM in a child process, and returns its milliseconds. Throws `busy` or `refused` with the child's sentence. */
async function runChild(vacuuming: Vacuuming, isPatient: boolean): Promise<number> {
  // The environment stays empty: the server's variables hold secrets, and VACUUM needs none of them.
  const child = startChild(isPatient ? [...vacuuming.command, '--wait'] : vacuuming.command);
  vacuuming.child = child;
  try {
    const [stdout, stderr] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()]);
    const code = await child.exited;
    if (code === 0) return (JSON.parse(stdout) as { milliseconds: number }).milliseconds;
    throw new AppError(code === TRY_LATER ? 'busy' : 'refused', sentenceIn(stderr) ?? `It ended with code ${code}.`);
  } finally {
    vacuuming.child = null;
  }
}

function startChild(command: readonly string[]) {
  try {
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
