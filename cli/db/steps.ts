import { statSync } from 'node:fs';
import type { Clock } from '../../shared/clock.ts';
import { notice } from '../output.ts';

/** What a command of several long steps says on stderr, where that is a terminal; elsewhere only the warnings. */
export type Steps = {
  /** Names the step that begins now, which may take long; ends the one before with the time it took. */
  begin: (what: string) => void;
  end: () => void;
  warn: (sentence: string) => void;
};

/**
 * Steps that are timed by the given clock. SQLite copies and checks in one go and says nothing meanwhile, so there is no
 * share to show: only what is being done, and how long it took.
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

/** Bytes, or the size of a file, as a person reads it: `12.3 MiB`. */
export function sizeText(of: number | string): string {
  let size = typeof of === 'number' ? of : (statSync(of, { throwIfNoEntry: false })?.size ?? 0);
  for (const unit of ['bytes', 'KiB', 'MiB']) {
    if (size < 1024) return `${unit === 'bytes' ? size : size.toFixed(1)} ${unit}`;
    size /= 1024;
  }
  return `${size.toFixed(1)} GiB`;
}
