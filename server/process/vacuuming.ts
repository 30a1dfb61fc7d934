import { isVacuumDue, prepareVacuum } from '../../shared/db/vacuum.ts';
import type { ServerDeps } from '../../shared/deps.ts';
import { AppError } from '../../shared/errors.ts';
import type { Log } from '../watching/log.ts';

/** Vacuums the database where copies of erased texts may be left in it, as long as the server runs. */
export type Vacuuming = {
  /** Begins no further vacuum; ends one that is under way, which leaves the database as it was. */
  stop: () => Promise<void>;
};

/** How a server runs `profilectl db vacuum`: the words of that command, and how often it looks whether one is due. */
export type VacuumOptions = { words: readonly string[]; everyMs?: number };

/** Also after a short run, so that a server which is started often comes to it. */
const FIRST_MS = 1_000;

const EVERY_MS = 60_000;

/** After a vacuum that failed or found no room, the server waits so long. */
const PAUSE_MS = 3_600_000;

type State = {
  deps: ServerDeps;
  log: Log;
  words: readonly string[];
  everyMs: number;
  isStopping: boolean;
  timer: Timer | null;
  child: { kill: (signal: 'SIGKILL') => void } | null;
  /** By the monotonic clock: no vacuum is tried before this. */
  notBeforeMs: number;
  /** Ends when the look that is under way has ended. */
  look: Promise<void>;
};

/**
 * Looks after a second and then every minute whether a vacuum is due, and lets a child process do it, so that no request
 * waits for it. While an import or an approval is under way it looks again later. What goes wrong is logged, and tried again
 * after an hour.
 */
export function startVacuuming(deps: ServerDeps, log: Log, { words, everyMs = EVERY_MS }: VacuumOptions): Vacuuming {
  const state: State = {
    deps,
    log,
    words,
    everyMs,
    isStopping: false,
    timer: null,
    child: null,
    notBeforeMs: Number.NEGATIVE_INFINITY,
    look: Promise.resolve(),
  };
  schedule(state, Math.min(FIRST_MS, everyMs));
  return { stop: () => stop(state) };
}

function schedule(state: State, inMs: number): void {
  if (state.isStopping) return;
  const begin = () => {
    state.look = look(state).finally(() => schedule(state, state.everyMs));
  };
  state.timer = setTimeout(begin, inMs).unref();
}

async function stop(state: State): Promise<void> {
  state.isStopping = true;
  if (state.timer !== null) clearTimeout(state.timer);
  state.child?.kill('SIGKILL');
  await state.look;
}

async function look(state: State): Promise<void> {
  const { db, clock } = state.deps;
  if (clock.monotonicMs() < state.notBeforeMs) return;
  try {
    const nowMs = clock.nowMs();
    if (!isVacuumDue(db, nowMs)) return;
    // Asked here too, so that no process is started for nothing; the child asks again.
    prepareVacuum(db, nowMs, 0).close();
    const milliseconds = await runChild(state);
    state.log.event('info', `The database was vacuumed in ${milliseconds} ms; no erased text is left in it.`);
  } catch (cause) {
    if (state.isStopping || (cause instanceof AppError && cause.code === 'busy')) return;
    state.notBeforeMs = clock.monotonicMs() + PAUSE_MS;
    const why = cause instanceof AppError ? cause.message : 'The cause is unknown.';
    state.log.event('warn', `Erased texts may be left in the database, which could not be vacuumed. ${why}`, { cause });
  }
}

/** The exit code of a command that should be tried again later (`cli/exit-codes.ts`). */
const TRY_LATER = 75;

/** Returns how long the vacuum took, milliseconds. Throws `busy` or `refused` with the child's own sentence. */
async function runChild(state: State): Promise<number> {
  // Without the server's variables: they hold secrets, and a vacuum needs none of them.
  const child = Bun.spawn([...state.words], { env: {}, stdin: 'ignore', stdout: 'pipe', stderr: 'pipe' });
  state.child = child;
  try {
    const [stdout, stderr] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()]);
    const code = await child.exited;
    if (code === 0) return (JSON.parse(stdout) as { milliseconds: number }).milliseconds;
    throw new AppError(code === TRY_LATER ? 'busy' : 'refused', sentenceIn(stderr) ?? `It ended with code ${code}.`);
  } finally {
    state.child = null;
  }
}

/** The sentence of the last line, `{"error":"<sentence>"}`; null where there is none. */
function sentenceIn(stderr: string): string | null {
  try {
    const { error } = JSON.parse(stderr.trimEnd().split('\n').at(-1) ?? '') as { error?: unknown };
    return typeof error === 'string' ? error : null;
  } catch {
    return null;
  }
}
