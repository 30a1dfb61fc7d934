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

/**
 * Lays out rows below their heads, with columns padded by display width. Control characters in cells are left out. If
 * `columns` is not 0, the widest columns are truncated so that each row fits into one line of the terminal, except those
 * whose heads are in `whole`.
 */
export function table(
  heads: readonly string[],
  rows: readonly (readonly string[])[],
  columns = outputColumns() ?? 0,
  whole: readonly string[] = [],
): string {
  const cells = [heads, ...rows].map((row) => row.map((cell) => cleanForTerminal(cell)));
  const widths = heads.map((_, column) => Math.max(...cells.map((row) => Bun.stringWidth(row[column] ?? ''))));
  if (columns > 0)
    narrow(
      widths,
      columns,
      heads.map((head) => !whole.includes(head)),
    );
  return cells
    .map((row) =>
      row
        .map((cell, column) => padOrCut(cell, widths[column] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}

const GAP = 2;

/** Columns are never made narrower than this: an identifier has eight characters. */
const NARROWEST = 8;

function narrow(widths: number[], columns: number, mayCut: readonly boolean[]): void {
  const room = columns - GAP * (widths.length - 1);
  for (let excess = widths.reduce((sum, width) => sum + width, 0) - room; excess > 0; excess--) {
    const widest = Math.max(...widths.filter((_, column) => mayCut[column]));
    if (widest <= NARROWEST) return;
    widths[widths.findIndex((width, column) => mayCut[column] && width === widest)] = widest - 1;
  }
}

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
