import { type Clock, within } from '../../shared/clock.ts';
import { isDumbTerminal } from '../../shared/config/environment.ts';
import { AppError } from '../../shared/errors.ts';
import { notice } from './output.ts';

/** How long the state is looked up after Ctrl-C. */
const STATE_PATIENCE_MS = 5_000;

const UNKNOWN = 'Interrupted; it is unknown whether anything was changed.';

/** How often the display of a wait is updated. Shorter waits are not shown. */
const EVERY_MS = 1_000;

const CLEAR = '\r\u001b[K';

/**
 * Runs `act`, which may spend a while waiting for the mail server. The terminal shows how long it has
 * waited; one that can't rewrite a line shows once that it is waiting. Ctrl-C ends the wait. Throws the errors of
 * {@link untilInterrupted}.
 */
export async function waitWhile<T>(clock: Clock, act: () => Promise<T>, stateText: () => Promise<string>): Promise<T> {
  const stop = showWait(clock);
  try {
    // `act` starts a tick later, when the Ctrl-C handler is installed.
    return await untilInterrupted(Promise.resolve().then(act), stateText);
  } finally {
    stop();
  }
}

/** Like {@link waitWhile}, for a check that sends and changes nothing. */
export function whileMailIsChecked<T>(clock: Clock, check: Promise<T>): Promise<T> {
  return waitWhile(
    clock,
    () => check,
    async () => 'Interrupted; nothing was sent or changed.',
  );
}

/** Shows the wait on stderr. Returns the function that ends the display. */
function showWait(clock: Clock, terminal: NodeJS.WriteStream = process.stderr): () => void {
  if (terminal.isTTY !== true) return () => {};
  const startedMs = clock.monotonicMs();
  const canRewrite = Boolean(terminal.columns) && !isDumbTerminal();
  let isShown = false;
  const show = () => {
    const seconds = Math.floor((clock.monotonicMs() - startedMs) / 1000);
    if (canRewrite) terminal.write(`${CLEAR}Waiting for the mail server, ${seconds} s…`.slice(0, terminal.columns));
    else if (!isShown) notice('Waiting for the mail server, at most a minute…');
    isShown = true;
  };
  const timer = setInterval(show, EVERY_MS);
  return () => {
    clearInterval(timer);
    if (isShown && canRewrite) terminal.write(CLEAR);
  };
}

/**
 * Waits for `act`, or for Ctrl-C. Throws what `act` throws; after Ctrl-C `cancelled`, with the sentence of `stateText` about
 * what has been done, or that this is unknown if it is refused or takes longer than `patienceMs`. Ctrl-C is noticed only while
 * `act` is waiting.
 */
export async function untilInterrupted<T>(
  act: Promise<T>,
  stateText: () => string | Promise<string>,
  patienceMs = STATE_PATIENCE_MS,
): Promise<T> {
  const interrupted = Promise.withResolvers<never>();
  const interrupt = async () => {
    try {
      const text = await within(Promise.resolve(stateText()), patienceMs);
      interrupted.reject(new AppError('cancelled', text === 'too late' ? UNKNOWN : text));
    } catch (error) {
      interrupted.reject(error instanceof AppError ? new AppError('cancelled', `${UNKNOWN} ${error.message}`) : error);
    }
  };
  process.once('SIGINT', interrupt);
  try {
    return await Promise.race([act, interrupted.promise]);
  } finally {
    process.off('SIGINT', interrupt);
  }
}
