import type { Clock } from '../shared/clock.ts';
import { isDumbTerminal } from '../shared/config/environment.ts';
import { untilInterrupted } from './interrupt.ts';
import { notice } from './output.ts';

/** The display of a wait changes this often, in milliseconds. A shorter wait is not shown at all. */
const EVERY_MS = 1_000;

const CLEAR = '\r\u001b[K';

/**
 * Waits for the mail server, which may take a minute, or until Ctrl-C. On a terminal it shows how long it has waited; on one
 * without columns or with TERM=dumb it says once that it waits. Throws what {@link untilInterrupted} throws.
 */
export async function waitForMail<T>(clock: Clock, act: Promise<T>, stateText: () => Promise<string>): Promise<T> {
  const stopShowing = showWait(clock);
  try {
    return await untilInterrupted(act, stateText);
  } finally {
    stopShowing();
  }
}

/** Waits as {@link waitForMail} does for a check that sends and changes nothing. */
export function whileMailIsChecked<T>(clock: Clock, check: Promise<T>): Promise<T> {
  return waitForMail(clock, check, async () => 'Interrupted; nothing was sent or changed.');
}

/** Shows on stderr that the program waits. Returns a function that stops this and removes the line. */
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
