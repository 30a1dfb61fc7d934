import { isVacuumDue, prepareVacuum } from '../../shared/db-files/vacuum.ts';
import type { ServerDeps } from '../../shared/deps.ts';
import { AppError, fileRefusal } from '../../shared/errors.ts';
import type { Log } from '../observability/log.ts';
import { cantStart } from './own-program.ts';

/** How a server runs `profilectl db vacuum`: the words of that command, and how often it looks whether one is due. */
export type VacuumOptions = { words: readonly string[]; everyMs?: number };

/** How long after its start the server first looks: soon, so that a server that often restarts runs VACUUM at all. */
const FIRST_MS = 1_000;

const EVERY_MS = 60_000;

/** How long the server waits after a VACUUM that failed or found no room. */
const PAUSE_MS = 3_600_000;

/**
 * How often a VACUUM waits for an import that is open, up to a minute, while other imports wait for it. So it gets its turn
 * between short imports that follow each other, and delays little beside one that takes hours.
 */
const PATIENT_EVERY_MS = 600_000;

/** Runs VACUUM where SQLite may have left copies of erased texts in the file, as long as the server runs. */
export type Vacuuming = {
  readonly deps: ServerDeps;
  readonly log: Log;
  readonly words: readonly string[];
  readonly everyMs: number;
  isStopping: boolean;
  timer: Timer | null;
  /** The process that runs VACUUM now. */
  child: { kill: (signal: 'SIGKILL') => void } | null;
  /** No VACUUM is tried before this time of the monotonic clock. */
  notBeforeMs: number;
  /** From this time of the monotonic clock on one is tried that waits for imports. */
  patientAtMs: number;
  /** Resolves when the look that is under way, or was the last one, has ended. */
  look: Promise<void>;
};

/**
 * Looks after a second and then every minute whether a VACUUM is due, and has a child process run it, so that no request
 * waits for it. While an import or an approval is under way it waits a while for its turn, or looks again later. What goes
 * wrong is logged, and tried again after an hour.
 */
export function startVacuuming(deps: ServerDeps, log: Log, { words, everyMs = EVERY_MS }: VacuumOptions): Vacuuming {
  const vacuuming: Vacuuming = {
    deps,
    log,
    words,
    everyMs,
    isStopping: false,
    timer: null,
    child: null,
    notBeforeMs: Number.NEGATIVE_INFINITY,
    patientAtMs: Number.NEGATIVE_INFINITY,
    look: Promise.resolve(),
  };
  schedule(vacuuming, Math.min(FIRST_MS, everyMs));
  return vacuuming;
}

/** Begins no further VACUUM, and kills the process of one that is under way, which leaves the database as it was. */
export async function stopVacuuming(vacuuming: Vacuuming): Promise<void> {
  vacuuming.isStopping = true;
  if (vacuuming.timer !== null) clearTimeout(vacuuming.timer);
  vacuuming.child?.kill('SIGKILL');
  await vacuuming.look;
}

function schedule(vacuuming: Vacuuming, inMs: number): void {
  if (vacuuming.isStopping) return;
  const begin = () => {
    vacuuming.look = look(vacuuming).finally(() => schedule(vacuuming, vacuuming.everyMs));
  };
  vacuuming.timer = setTimeout(begin, inMs).unref();
}

async function look(vacuuming: Vacuuming): Promise<void> {
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
    vacuuming.log.event('info', `The database was vacuumed in ${milliseconds} ms; no erased text is left in it.`);
  } catch (cause) {
    if (vacuuming.isStopping || (cause instanceof AppError && cause.code === 'busy')) return;
    vacuuming.notBeforeMs = clock.monotonicMs() + PAUSE_MS;
    const why = cause instanceof AppError ? cause.message : 'The cause is unknown.';
    vacuuming.log.event('warn', `Erased texts may be left in the database, which could not be vacuumed. ${why}`, {
      cause,
    });
  }
}

/**
 * Whether a VACUUM could begin now. The child process makes the same checks; they are made here too, so that no process is
 * started in vain. Throws `refused`.
 */
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

/** Runs VACUUM in a child process. Returns how many milliseconds it took. Throws `busy` or `refused` with the child's sentence. */
async function runChild(vacuuming: Vacuuming, isPatient: boolean): Promise<number> {
  // The environment stays empty: the server's variables hold secrets, and VACUUM needs none of them.
  const child = startChild(isPatient ? [...vacuuming.words, '--wait'] : vacuuming.words);
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

function startChild(words: readonly string[]) {
  try {
    return Bun.spawn([...words], { env: {}, stdin: 'ignore', stdout: 'pipe', stderr: 'pipe' });
  } catch (cause) {
    throw fileRefusal(cantStart(words, cause), cause);
  }
}

/** The sentence of the last line that a command prints on standard error, `{"error":"<sentence>"}`; null without one. */
function sentenceIn(stderr: string): string | null {
  try {
    const { error } = JSON.parse(stderr.trimEnd().split('\n').at(-1) ?? '') as { error?: unknown };
    return typeof error === 'string' ? error : null;
  } catch {
    return null;
  }
}
