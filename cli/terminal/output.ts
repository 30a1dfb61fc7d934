import { cleanForTerminal, escapeJsonForTerminal } from '../../shared/text.ts';

/** An error of standard output. `code` is the system's: EPIPE if the reader has closed it, ENOSPC on a full disk. */
export class OutputFault extends Error {
  constructor(readonly code: string) {
    super(`The output can't be written (${code}).`);
  }
}

/** Whether the error means that the reader has closed standard output. */
export function isClosedOutput(error: unknown): boolean {
  return error instanceof OutputFault && error.code === 'EPIPE';
}

let fault: unknown = null;

let lastWrite = Promise.resolve();

// The callback of each write receives its error. Without a listener, the error would also end the process.
process.stdout.on('error', () => undefined);

/** Writes text to stdout. {@link flushOutput} waits until it is written. */
export function writeOutput(text: string): void {
  const { promise, resolve } = Promise.withResolvers<void>();
  process.stdout.write(text, (cause) => {
    fault ??= cause ?? null;
    resolve();
  });
  lastWrite = promise;
}

/** Waits until everything is written. Throws {@link OutputFault} if that failed. */
export async function flushOutput(): Promise<void> {
  await lastWrite;
  if (fault === null) return;
  const code = fault instanceof Error && 'code' in fault ? fault.code : null;
  throw typeof code === 'string' ? new OutputFault(code) : fault;
}

/** The number of columns of the terminal, 0 if unknown; undefined if standard output is not a terminal. */
export function outputColumns(): number | undefined {
  return process.stdout.isTTY ? (process.stdout.columns ?? 0) : undefined;
}

/** Writes a result of one or more lines to stdout, without control and bidirectional characters. `paint` colours it afterwards. */
export function print(text: string, paint: (clean: string) => string = (clean) => clean): void {
  writeOutput(`${paint(cleanForTerminal(text, true))}\n`);
}

/** Writes the result of a command with `--json` to stdout, with such characters escaped. */
export function printJson(value: unknown): void {
  printJsonText(JSON.stringify(value));
}

/** Like {@link printJson}, for JSON text. */
export function printJsonText(json: string): void {
  writeOutput(`${escapeJsonForTerminal(json)}\n`);
}

/** Writes anything but a result, such as a warning, to stderr, without control and bidirectional characters. */
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

/** A time (ISO 8601) in a table: how long ago on a terminal, and exact where a program may read it. */
export function timeCell(at: string, nowMs: number): string {
  return process.stdout.isTTY ? `${ageText(at, nowMs)} ago` : at;
}

const UNITS = [
  ['d', 86_400],
  ['h', 3_600],
  ['m', 60],
] as const;

/** The columns of a stream's terminal, 100 if unknown. Infinity if the stream is not a terminal. */
export function columnsOf({ isTTY, columns }: NodeJS.WriteStream): number {
  return isTTY === true ? columns || 100 : Number.POSITIVE_INFINITY;
}

/** Breaks a line at its spaces so that each part fits into `columns`. Longer words are not broken. */
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

/** Whether prompts work: they read stdin and write to stderr, so both must be terminals. */
export function canAsk(): boolean {
  return process.stdin.isTTY === true && process.stderr.isTTY === true;
}

/** How a table is fitted to a narrow terminal: the heads of the columns to omit, in this order, and of those to truncate. */
type Fit = { omitted: readonly string[]; truncated: readonly string[] };

/** Columns are not truncated below this width. */
const MIN_WIDTH = 12;

/**
 * Lays out rows below their heads, padded by display width, without control characters. With `fit`, each row is fitted into a
 * line of `columns` (0: unlimited), as far as `fit` allows.
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
    return { head, at, width, minWidth: fit?.truncated.includes(head) ? Math.min(width, MIN_WIDTH) : width };
  });
  const excess = (widths: readonly number[]) => widths.reduce((sum, width) => sum + width + GAP, -GAP) - columns;
  if (fit !== null && columns > 0) {
    for (const omitted of fit.omitted) {
      if (excess(shown.map(({ minWidth }) => minWidth)) > 0) shown = shown.filter(({ head }) => head !== omitted);
    }
    for (let over = excess(shown.map(({ width }) => width)); over > 0; over--) {
      const [widest] = shown.filter(({ width, minWidth }) => width > minWidth).toSorted((a, b) => b.width - a.width);
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
