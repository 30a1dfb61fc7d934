import type { Clock } from '../../shared/clock.ts';
import { notice } from './output.ts';

/** A line on stderr that shows the progress of a long command, if stderr is a terminal of known width. */
export type ProgressLine = {
  /** Shows that `bytes` of `total` are read; `total` is null if unknown. */
  show: (lines: number, bytes: number, total: number | null) => void;
  /** Writes a line above the progress line. */
  notice: (text: string) => void;
  clear: () => void;
};

const EVERY_MS = 100;
const CLEAR = '\r\u001b[K';

export function createProgress(clock: Clock): ProgressLine {
  const terminal = process.stderr;
  const columns = terminal.isTTY === true ? (terminal.columns ?? 0) : 0;
  const startedMs = clock.monotonicMs();
  let shownMs = Number.NEGATIVE_INFINITY;
  let shown = false;

  const clear = (): void => {
    if (shown) terminal.write(CLEAR);
    shown = false;
  };
  return {
    show: (lines, bytes, total) => {
      const nowMs = clock.monotonicMs();
      if (columns === 0 || nowMs - shownMs < EVERY_MS) return;
      shownMs = nowMs;
      shown = true;
      const text = progressText(lines, bytes, total, (nowMs - startedMs) / 1000);
      terminal.write(CLEAR + text.slice(0, columns - 1));
    },
    notice: (text) => {
      clear();
      notice(text);
    },
    clear,
  };
}

/** `25%, 12000 lines, 24000/s`; without a total, what has been read: `1.2 MiB, 12000 lines, 24000/s`. */
function progressText(lines: number, bytes: number, total: number | null, elapsedSeconds: number): string {
  const perSecond = elapsedSeconds > 0 ? Math.round(lines / elapsedSeconds) : 0;
  const share = total ? `${Math.floor(100 * Math.min(1, bytes / total))}%` : `${(bytes / 1_048_576).toFixed(1)} MiB`;
  return `${share}, ${lines} lines, ${perSecond}/s`;
}
