import { statSync } from 'node:fs';
import type { Clock } from '../../shared/clock.ts';
import { bytesText } from '../../shared/text.ts';
import { notice } from '../terminal/output.ts';

/** Shows the steps of a long command on stderr; if that is not a terminal, only warnings. */
export type Steps = {
  /** Shows that a step begins, and how long the previous one took. */
  begin: (what: string) => void;
  end: () => void;
  warn: (sentence: string) => void;
};

/**
 * Makes the display of steps, timed by `clock`. It shows no percentage, because SQLite copies or checks a database in one
 * call.
 */
export function createSteps(clock: Clock): Steps {
  const isSeen = process.stderr.isTTY === true;
  let startedMs: number | null = null;
  const end = (): void => {
    if (startedMs !== null && isSeen) {
      process.stderr.write(` ${((clock.monotonicMs() - startedMs) / 1000).toFixed(1)} s\n`);
    }
    startedMs = null;
  };
  return {
    begin: (what) => {
      end();
      startedMs = clock.monotonicMs();
      if (isSeen) process.stderr.write(`${what} …`);
    },
    end,
    warn: (sentence) => notice(`Warning: ${sentence}`),
  };
}

/** The size of a file as text, such as `12.3 MiB`. */
export function sizeText(file: string): string {
  return bytesText(statSync(file, { throwIfNoEntry: false })?.size ?? 0);
}
