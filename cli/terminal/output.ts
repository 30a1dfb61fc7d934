import { cleanForTerminal, escapeJsonForTerminal } from '../../shared/text.ts';
import { outputColumns, writeOutput } from './stdout.ts';

/** Writes a result of one or more lines to stdout. Control and bidirectional characters are left out. */
export function print(text: string): void {
  writeOutput(`${cleanForTerminal(text, true)}\n`);
}

/** Writes the result of a command with `--json` to stdout as one JSON value, with such characters escaped. */
export function printJson(value: unknown): void {
  printJsonText(JSON.stringify(value));
}

/** Does the same as {@link printJson} for JSON text. */
export function printJsonText(json: string): void {
  writeOutput(`${escapeJsonForTerminal(json)}\n`);
}

/** Writes what is not a result, such as a warning, to stderr. Control and bidirectional characters are left out. */
export function notice(text: string): void {
  process.stderr.write(`${cleanForTerminal(text, true)}\n`);
}

/** A number with its noun: `1 profile`, `2 profiles`. */
export function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}

/** The time since `since` (ISO 8601) in the largest whole unit: `3d`, `5h`, `12m`, `40s`. */
export function ageText(since: string, nowMs: number): string {
  const seconds = Math.max(0, Math.floor((nowMs - Date.parse(since)) / 1000));
  const [unit = 's', length = 1] = UNITS.find(([, unitSeconds]) => seconds >= unitSeconds) ?? [];
  return `${Math.floor(seconds / length)}${unit}`;
}

const UNITS = [
  ['d', 86_400],
  ['h', 3_600],
  ['m', 60],
] as const;

/** The columns of a stream's terminal, 100 if unknown. Infinity if the stream is no terminal. */
export function columnsOf({ isTTY, columns }: NodeJS.WriteStream): number {
  return isTTY === true ? columns || 100 : Number.POSITIVE_INFINITY;
}

/** Breaks a line at its spaces so that each part fits into `columns`. A word that is longer is not broken. */
export function wrapLine(line: string, columns: number): string[] {
  if (Bun.stringWidth(line) <= columns) return [line];
  const lines: string[] = [];
  let current: string | null = null;
  for (const word of line.split(' ')) {
    if (current !== null && Bun.stringWidth(`${current} ${word}`) <= columns) current = `${current} ${word}`;
    else {
      if (current !== null) lines.push(current);
      current = word;
    }
  }
  return [...lines, current ?? ''];
}

/** True if a person can be asked. Prompts read stdin and write stderr, so both must be terminals. */
export function canAsk(): boolean {
  return process.stdin.isTTY === true && process.stderr.isTTY === true;
}

/** How a table is made to fit a narrow terminal: the heads of columns that it omits, in this order, and of those it truncates. */
export type Fit = { omitted: readonly string[]; truncated: readonly string[] };

/** Columns are not truncated below this width. */
const LEAST_WIDTH = 12;

/**
 * Lays out rows below their heads, with columns padded by display width. Control characters in cells are left out. With
 * `fit`, rows fit into one line of a terminal with so many columns (0 if the width doesn't matter), as far as `fit` allows.
 */
export function table(
  heads: readonly string[],
  rows: readonly (readonly string[])[],
  fit: Fit | null = null,
  columns = outputColumns() ?? 0,
): string {
  const lines = [heads, ...rows].map((row) => row.map((cell) => cleanForTerminal(cell)));
  let shown = heads.map((head, at) => {
    const width = Math.max(...lines.map((cells) => Bun.stringWidth(cells[at] ?? '')));
    return { head, at, width, least: fit?.truncated.includes(head) ? Math.min(width, LEAST_WIDTH) : width };
  });
  const excess = (widths: readonly number[]) => widths.reduce((sum, width) => sum + width + GAP, -GAP) - columns;
  if (fit !== null && columns > 0) {
    for (const omitted of fit.omitted) {
      if (excess(shown.map(({ least }) => least)) > 0) shown = shown.filter(({ head }) => head !== omitted);
    }
    for (let over = excess(shown.map(({ width }) => width)); over > 0; over--) {
      const [widest] = shown.filter(({ width, least }) => width > least).toSorted((a, b) => b.width - a.width);
      if (widest !== undefined) widest.width--;
    }
  }
  const lineOf = (cells: readonly string[]) =>
    shown.map(({ at, width }) => padOrCut(cells[at] ?? '', width)).join(' '.repeat(GAP));
  return lines.map((cells) => lineOf(cells).trimEnd()).join('\n');
}

const GAP = 2;

function padOrCut(cell: string, width: number): string {
  const missing = width - Bun.stringWidth(cell);
  if (missing >= 0) return cell + ' '.repeat(missing);
  let kept = '';
  for (const { segment } of new Intl.Segmenter().segment(cell)) {
    if (Bun.stringWidth(kept + segment) >= width) break;
    kept += segment;
  }
  return padOrCut(`${kept}…`, width);
}
