import { cleanForTerminal } from '../shared/text.ts';

/** Writes a result line to stdout. */
export function print(line: string): void {
  process.stdout.write(`${line}\n`);
}

/** Writes one JSON value to stdout: the whole result of a command under `--json`. */
export function printJson(value: unknown): void {
  process.stdout.write(`${JSON.stringify(value)}\n`);
}

/** Writes everything that is not a result (progress, warnings, what happened) to stderr. */
export function notice(line: string): void {
  process.stderr.write(`${line}\n`);
}

/** A number with its noun: `1 profile`, `2 profiles`. */
export function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}

/** Whether a person is there to be asked: prompts read stdin and write stderr. */
export function canAsk(): boolean {
  return process.stdin.isTTY === true && process.stderr.isTTY === true;
}

/** Lays out rows under their heads, columns padded by display width; cells are cleaned of control characters. */
export function table(heads: readonly string[], rows: readonly (readonly string[])[]): string {
  const cells = [heads, ...rows].map((row) => row.map((cell) => cleanForTerminal(cell)));
  const widths = heads.map((_, column) => Math.max(...cells.map((row) => Bun.stringWidth(row[column] ?? ''))));
  return cells
    .map((row) =>
      row
        .map((cell, column) => cell + ' '.repeat((widths[column] ?? 0) - Bun.stringWidth(cell)))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}
