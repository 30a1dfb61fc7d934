import type { Clock } from '../../shared/clock.ts';
import { notice } from './output.ts';

/** A line on stderr that shows the progress of a long command, if stderr is a terminal of known width. */
export type ProgressLine = {
  /** Shows that `done` of `total` bytes or lines are finished. If `total` is null (unknown), `done` is in bytes. */
  show: (lines: number, done: number, total: number | null) => void;
  /** Writes a line above the progress line. */
  notice: (text: string) => void;
  clear: () => void;
};

const EVERY_MS = 100;
const BAR_CELLS = 20;
const CLEAR = '\r\u001b[K';

/** Makes a progress line. */
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
    show: (lines, done, total) => {
      const nowMs = clock.monotonicMs();
      if (columns === 0 || nowMs - shownMs < EVERY_MS) return;
      shownMs = nowMs;
      shown = true;
      const text = progressText(lines, done, total, (nowMs - startedMs) / 1000);
      terminal.write(CLEAR + text.slice(0, columns - 1));
    },
    notice: (text) => {
      clear();
      notice(text);
    },
    clear,
  };
}

/** `[#####               ] 25%  12000 lines, 24000/s, 2 s left`; without a total it shows bytes instead of the bar and the time left. */
function progressText(lines: number, done: number, total: number | null, elapsedSeconds: number): string {
  const perSecond = elapsedSeconds > 0 ? Math.round(lines / elapsedSeconds) : 0;
  const rate = `${lines} lines, ${perSecond}/s`;
  if (total === null || total === 0) return `${(done / 1_048_576).toFixed(1)} MiB, ${rate}`;
  const share = Math.min(1, done / total);
  const bar = '#'.repeat(Math.floor(share * BAR_CELLS)).padEnd(BAR_CELLS);
  const left = share > 0 ? `, ${Math.ceil((elapsedSeconds * (1 - share)) / share)} s left` : '';
  return `[${bar}] ${Math.floor(share * 100)}%  ${rate}${left}`;
}
