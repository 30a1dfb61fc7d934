import { cleanForTerminal, escapeJsonForTerminal } from '../shared/text.ts';
import { outputColumns, writeOutput } from './stdout.ts';

/** Writes a result of one or more lines to stdout, without control and bidirectional characters. */
export function print(text: string): void {
  writeOutput(`${cleanForTerminal(text, true)}\n`);
}

/** Writes one JSON value to stdout, such characters escaped: the whole result of a command under `--json`. */
export function printJson(value: unknown): void {
  printJsonText(JSON.stringify(value));
}

/** The same of a value that is JSON text already. */
export function printJsonText(json: string): void {
  writeOutput(`${escapeJsonForTerminal(json)}\n`);
}

/** Writes everything that is not a result (warnings, what happened) to stderr, without such characters. */
export function notice(text: string): void {
  process.stderr.write(`${cleanForTerminal(text, true)}\n`);
}

/** A number with its noun: `1 profile`, `2 profiles`. */
export function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}

/** How many columns a stream's terminal has, 100 where it does not say; without end where it is no terminal. */
export function columnsOf({ isTTY, columns }: NodeJS.WriteStream): number {
  return isTTY === true ? columns || 100 : Number.POSITIVE_INFINITY;
}

/** Breaks a line at its spaces so that each part fits into so many columns; a word that is longer stays whole. */
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

/** Whether a person is there to be asked: prompts read stdin and write stderr. */
export function canAsk(): boolean {
  return process.stdin.isTTY === true && process.stderr.isTTY === true;
}

/**
 * Lays out rows under their heads, columns padded by display width; cells are cleaned of control characters. On a
 * terminal the widest columns are cut so that each row fits its line; elsewhere everything is there.
 */
export function table(
  heads: readonly string[],
  rows: readonly (readonly string[])[],
  columns = outputColumns() ?? 0,
): string {
  const cells = [heads, ...rows].map((row) => row.map((cell) => cleanForTerminal(cell)));
  const widths = heads.map((_, column) => Math.max(...cells.map((row) => Bun.stringWidth(row[column] ?? ''))));
  if (columns > 0) narrow(widths, columns);
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

/** Eight, so that an identifier is never cut. */
const NARROWEST = 8;

function narrow(widths: number[], columns: number): void {
  const room = columns - GAP * (widths.length - 1);
  for (let excess = widths.reduce((sum, width) => sum + width, 0) - room; excess > 0; excess--) {
    const widest = Math.max(...widths);
    if (widest <= NARROWEST) return;
    widths[widths.indexOf(widest)] = widest - 1;
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
