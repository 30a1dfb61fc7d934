import type { Clock } from '../../shared/clock.ts';
import { isDumbTerminal } from '../../shared/config/environment.ts';
import { untilInterrupted } from './interrupt.ts';
import { notice } from './output.ts';

/** The display of a wait changes this often, in milliseconds. A shorter wait is not shown at all. */
const EVERY_MS = 1_000;

const MAIL_SERVER = 'mail server';

const CLEAR = '\r\u001b[K';

/**
 * Waits for the mail server, or a server elsewhere, which may take a minute and more, or until Ctrl-C. On a terminal it shows
 * how long it has waited; on one without columns or with TERM=dumb it says once that it waits. Throws what {@link untilInterrupted} throws.
 */
export async function waitWhile<T>(
  clock: Clock,
  act: () => Promise<T>,
  stateText: () => Promise<string>,
  what = MAIL_SERVER,
): Promise<T> {
  const stop = showWait(clock, what);
  try {
    // Ctrl-C is listened to before anything is begun or said.
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

/** Shows on stderr that the program waits. Returns how to end that. */
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
