import type { Clock } from '../shared/clock.ts';
import { isDumbTerminal } from '../shared/config/environment.ts';
import { untilInterrupted } from './interrupt.ts';
import { notice } from './output.ts';

/** The display of a wait changes this often, in milliseconds. A shorter wait is not shown at all. */
const EVERY_MS = 1_000;

const MAIL_SERVER = 'mail server';

const CLEAR = '\r\u001b[K';

/**
 * Waits for the mail server, or a server elsewhere, which may take a minute and more, or until Ctrl-C. On a terminal it shows
 * how long it has waited; on one without columns or with TERM=dumb it says once that it waits. `act` may say something
 * meanwhile. Throws what {@link untilInterrupted} throws.
 */
export async function waitWhile<T>(
  clock: Clock,
  act: (say: (text: string) => void) => Promise<T>,
  stateText: () => Promise<string>,
  what = MAIL_SERVER,
): Promise<T> {
  const { say, stop } = showWait(clock, what);
  try {
    return await untilInterrupted(act(say), stateText);
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

/** Shows on stderr that the program waits. Returns how to say something above that, and how to end it. */
function showWait(clock: Clock, what: string, terminal: NodeJS.WriteStream = process.stderr) {
  if (terminal.isTTY !== true) return { say: notice, stop: () => {} };
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
  const clear = () => {
    if (isShown && canRewrite) terminal.write(CLEAR);
  };
  const say = (text: string) => {
    clear();
    notice(text);
  };
  const stop = () => {
    clearInterval(timer);
    clear();
  };
  return { say, stop };
}
