/** The bound that a ratio has to reach; null if it is measured without a goal. */
export type Goal = { min: number } | { max: number } | null;

/** The result of a case: ratios, one for each round, and the figures behind them (medians). */
export type Result = {
  name: string;
  /** What was measured, and what it is divided by. */
  what: string;
  goal: Goal;
  ratios: number[];
  figures: Record<string, number>;
  /** Responses that were compared with the generated profiles during the load. */
  samples: number;
  faults: string[];
};

/** A stored result, with the conditions of its measurement. */
export type KeptResult = Result & {
  profiles: number;
  rounds: number;
  commit: string;
  date: string;
  machine: { cores: number; cpu: string; bun: string; kernel: string };
};

/** The content of `results.json`. */
export type Results = { results: KeptResult[] };

/** The middle value, or the mean of the two in the middle. */
export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length / 2;
  return Number.isInteger(middle)
    ? ((sorted[middle - 1] as number) + (sorted[middle] as number)) / 2
    : (sorted[Math.floor(middle)] as number);
}

/** The 95 % interval of a median, from the order of the values alone (the sign test's): its minimum and maximum. */
export function intervalOf(values: readonly number[]): [number, number] {
  const sorted = values.toSorted((a, b) => a - b);
  const below = Math.max(0, Math.floor((sorted.length - 1.96 * Math.sqrt(sorted.length)) / 2));
  return [sorted[below] as number, sorted[sorted.length - 1 - below] as number];
}

/** That interval as figures of a result. */
export function intervalFigures(ratios: readonly number[]): Record<string, number> {
  const [min, max] = intervalOf(ratios);
  return { 'median 95 % min': brief(min), 'median 95 % max': brief(max) };
}

/** How far a result is beyond its goal: 1 is exactly the goal, more is better. */
export function timesGoal(goal: NonNullable<Goal>, ratio: number): number {
  return 'min' in goal ? ratio / goal.min : goal.max / ratio;
}

/** `≥ 0.85` */
export function goalText(goal: NonNullable<Goal>): string {
  return 'min' in goal ? `≥ ${goal.min}` : `≤ ${goal.max}`;
}

/** A ratio for people: two decimals, one above 10. */
export function ratioText(ratio: number): string {
  return ratio.toFixed(ratio < 10 ? 2 : 1);
}

/** A count with thin spaces between thousands, as in `1 000 000`. */
export function countText(count: number): string {
  return Math.round(count).toLocaleString('en-US').replaceAll(',', ' ');
}

/** A number with four significant digits. */
export function brief(value: number): number {
  return Number(value.toPrecision(4));
}

/** The column heads of the table. */
export const TABLE_HEAD = ['Case', 'Ratio', 'Rounds', 'Goal', 'By CPU time'];

/** The cells of a result's row: its median, its range, and the ratio of processor time alone. */
export function tableRow({ what, goal, ratios, figures }: Result): string[] {
  const middle = median(ratios);
  const spread = `${ratioText(Math.min(...ratios))}–${ratioText(Math.max(...ratios))}`;
  const { 'bare cpuMicros': bare, 'ours cpuMicros': ours } = figures;
  const byCpu = bare === undefined || ours === undefined ? '' : ratioText(bare / ours);
  const aim = goal === null ? '' : `${goalText(goal)}${timesGoal(goal, middle) >= 1 ? '' : ', missed'}`;
  return [what, ratioText(middle), spread, aim, byCpu];
}

/** The table as Markdown. */
export function markdownTable(results: readonly Result[]): string {
  const rows = [TABLE_HEAD, TABLE_HEAD.map(() => '---'), ...results.map(tableRow)];
  return rows.map((cells) => `| ${cells.join(' | ')} |\n`).join('');
}

/** The table for a terminal: columns in line. */
export function textTable(results: readonly Result[]): string {
  const rows = [TABLE_HEAD, ...results.map(tableRow)];
  const widths = TABLE_HEAD.map((_, column) => Math.max(...rows.map((cells) => Bun.stringWidth(cells[column] ?? ''))));
  const line = (cells: readonly string[]) => cells.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join('  ');
  return rows.map(line).join('\n');
}
