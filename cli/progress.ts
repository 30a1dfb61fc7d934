import type { Clock } from '../shared/clock.ts';
import { notice } from './output.ts';

/** A line on stderr that says how far a long command is; silent where stderr is no terminal or has no width. */
export type ProgressLine = {
  /** `done` of `total`, in bytes or lines; `total` is null where the end is unknown, and `done` then bytes. */
  show: (lines: number, done: number, total: number | null) => void;
  /** Writes a whole line above the progress line, or just a line where there is none. */
  notice: (text: string) => void;
  /** Takes the progress line away. */
  clear: () => void;
};

const EVERY_MS = 100;
const BAR_CELLS = 20;
const CLEAR = '\r\u001b[K';

/** A progress line that times itself by the given clock. */
export function createProgress(clock: Clock, terminal: NodeJS.WriteStream = process.stderr): ProgressLine {
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

/** `[#####               ] 25 %  12000 lines, 24000/s, 2 s left`; without an end: bytes instead of bar and time left. */
export function progressText(lines: number, done: number, total: number | null, elapsedSeconds: number): string {
  const perSecond = elapsedSeconds > 0 ? Math.round(lines / elapsedSeconds) : 0;
  const rate = `${lines} lines, ${perSecond}/s`;
  if (total === null || total === 0) return `${(done / 1_048_576).toFixed(1)} MiB, ${rate}`;
  const share = Math.min(1, done / total);
  const bar = '#'.repeat(Math.floor(share * BAR_CELLS)).padEnd(BAR_CELLS);
  const left = share > 0 ? `, ${Math.ceil((elapsedSeconds * (1 - share)) / share)} s left` : '';
  return `[${bar}] ${Math.floor(share * 100)} %  ${rate}${left}`;
}
