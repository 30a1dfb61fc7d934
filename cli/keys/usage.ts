import { countAnswered, countRequests, type Outcomes } from '../../shared/usage/outcomes.ts';
import type { UsageView } from '../../shared/usage/usage-view.ts';
import { counted } from '../terminal/output.ts';

const OK_CELL = '█';
const OTHER_CELL = '░';

const REFUSED = {
  forbidden: 'without permission',
  malformed: 'malformed',
  limited: 'over a limit',
  failed: 'failed',
} as const;

/** A bar for each day with requests, the longest filling `columns`, and a legend with the totals. */
export function usageText({ identifier, days, lastUsedAt }: UsageView, columns: number): string {
  const totals = days.map(countRequests);
  const max = Math.max(...totals);
  const countWidth = String(max).length;
  const barWidth = Math.max(1, columns - 'YYYY-MM-DD'.length - countWidth - 4);
  const bars = days.flatMap(({ day, ...counts }, index) => {
    const total = totals[index] as number;
    if (total === 0) return [];
    return [`${day}  ${String(total).padStart(countWidth)}  ${bar(countAnswered(counts), total, max, barWidth)}`];
  });
  const sum = totals.reduce((all, total) => all + total, 0);
  const lastUse = lastUsedAt === null ? 'never used' : `last used ${lastUsedAt}`;
  const head = `Key ${identifier}: ${counted(sum, 'request')} in ${counted(days.length, 'day')}, ${lastUse}`;
  return sum === 0 ? head : [head, '', ...bars, '', legend(days)].join('\n');
}

/** The bar of one day. Answered and other requests, if any, have at least one cell each if there is room. */
function bar(answered: number, total: number, max: number, width: number): string {
  const cells = Math.max(1, Math.round((total / max) * width));
  const others = total - answered;
  const minOtherCells = others > 0 ? 1 : 0;
  const okCells = Math.min(
    cells - minOtherCells,
    Math.max(answered > 0 ? 1 : 0, Math.round((answered / total) * cells)),
  );
  return OK_CELL.repeat(Math.max(0, okCells)) + OTHER_CELL.repeat(cells - Math.max(0, okCells));
}

function legend(days: UsageView['days']): string {
  const sumOf = (count: (day: Outcomes) => number) => days.reduce((sum, day) => sum + count(day), 0);
  const notFound = sumOf((day) => day.notFound);
  const answered = `${sumOf(countAnswered)} answered${notFound === 0 ? '' : ` (${notFound} not found)`}`;
  const refused = Object.entries(REFUSED).flatMap(([outcome, words]) => {
    const sum = sumOf((day) => day[outcome as keyof typeof REFUSED]);
    return sum === 0 ? [] : [`${sum} ${words}`];
  });
  return `${OK_CELL} ${answered}   ${OTHER_CELL} ${refused.join(', ') || 'none refused'}`;
}
