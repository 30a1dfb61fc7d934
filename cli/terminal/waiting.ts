import type { Clock } from '../../shared/clock.ts';
import { isDumbTerminal } from '../../shared/config/environment.ts';
import { AppError } from '../../shared/errors.ts';
import { notice } from './output.ts';

/** The interval at which the display of a wait is updated, in milliseconds. A shorter wait is not shown at all. */
const EVERY_MS = 1_000;

const MAIL_SERVER = 'mail server';

const CLEAR = '\r\u001b[K';

/**
 * Runs `act`, which waits for `what`, the mail server by default, perhaps for minutes. On a terminal it shows how long it
 * has waited; on one without columns or with TERM=dumb it says once that it waits. Ctrl-C ends the wait. Throws what
 * {@link untilInterrupted} throws.
 */
export async function waitWhile<T>(
  clock: Clock,
  act: () => Promise<T>,
  stateText: () => Promise<string>,
  what = MAIL_SERVER,
): Promise<T> {
  const stop = showWait(clock, what);
  try {
    // `act` starts a tick later, so that the handler of Ctrl-C is already installed.
    return await untilInterrupted(Promise.resolve().then(act), stateText);
  } finally {
    stop();
  }
}

/** Waits as {@link waitWhile} does for a check that sends and changes nothing. */
export function whileMailIsChecked<T>(clock: Clock, check: Promise<T>): Promise<T> {
  return waitWhile(
    clock,
    () => check,
    async () => 'Interrupted; nothing was sent or changed.',
  );
}

/** Shows on stderr that the program waits. Returns the function that ends the display. */
function showWait(clock: Clock, what: string, terminal: NodeJS.WriteStream = process.stderr): () => void {
  if (terminal.isTTY !== true) return () => {};
  const startedMs = clock.monotonicMs();
  const canRewrite = Boolean(terminal.columns) && !isDumbTerminal();
  let isShown = false;
  const show = () => {
    const seconds = Math.floor((clock.monotonicMs() - startedMs) / 1000);
    if (canRewrite) terminal.write(`${CLEAR}Waiting for the ${what}, ${seconds} s…`.slice(0, terminal.columns));
    else if (!isShown) notice(`Waiting for the ${what}${what === MAIL_SERVER ? ', at most a minute' : ''}…`);
    isShown = true;
  };
  const timer = setInterval(show, EVERY_MS);
  return () => {
    clearInterval(timer);
    if (isShown && canRewrite) terminal.write(CLEAR);
  };
}

/**
 * Waits until `act` ends, or for Ctrl-C. Throws what `act` throws; after Ctrl-C `cancelled`, with the sentence that
 * `stateText` returns about what has been done. Ctrl-C is noticed only while `act` waits for something.
 */
export async function untilInterrupted<T>(act: Promise<T>, stateText: () => string | Promise<string>): Promise<T> {
  const interrupted = Promise.withResolvers<never>();
  const interrupt = async () => {
    try {
      interrupted.reject(new AppError('cancelled', await stateText()));
    } catch (error) {
      interrupted.reject(error);
    }
  };
  process.once('SIGINT', interrupt);
  try {
    return await Promise.race([act, interrupted.promise]);
  } finally {
    process.off('SIGINT', interrupt);
  }
}
