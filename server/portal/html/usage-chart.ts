import { countText, numberText } from '../../../shared/text.ts';
import { countAnswered, countRequests, USAGE_OUTCOMES, type UsageOutcome } from '../../../shared/usage/outcomes.ts';
import type { UsageView } from '../../../shared/usage/usage-view.ts';
import { type Html, html } from '../../html.ts';

/** The labels of the outcomes of requests. */
export const OUTCOME_WORDS: Readonly<Record<UsageOutcome, string>> = {
  ok: 'Successful',
  notFound: 'Not found',
  forbidden: 'Without permission',
  malformed: 'Malformed',
  limited: 'Over a limit',
  failed: 'Failed',
};

type Day = UsageView['days'][number] & { total: number; answered: number };

/** The chart's height, and the width of a day with its gap, in the units of the SVG. */
const SIZE = { height: 60, day: 10, gap: 2 } as const;

/** The usage of a key, or of all keys, by day: a summary, a bar chart (hidden from screen readers) and a table. */
export function usageChart({ days }: Pick<UsageView, 'days'>): Html {
  const all = days.map((day): Day => ({ ...day, total: countRequests(day), answered: countAnswered(day) }));
  const sum = all.reduce((sum, { total }) => sum + total, 0);
  if (sum === 0) return html`<p>No requests in the last ${countText(days.length, 'day')}.</p>`;
  const answered = all.reduce((sum, day) => sum + day.answered, 0);
  const limited = all.reduce((sum, day) => sum + day.limited, 0);
  const over = limited === 0 ? '' : ` · ${numberText(limited)} over a limit`;
  return html`<p>${countText(sum, 'request')} · ${percentText(answered, sum)} answered${over}</p>${bars(all)}${table(all)}`;
}

/** A share in whole percent; only exact ones are shown as 0% and 100%. */
export function percentText(part: number, whole: number): string {
  const percent = Math.round((part / whole) * 100);
  if (percent === 100 && part < whole) return 'over 99%';
  return percent === 0 && part > 0 ? 'under 1%' : `${percent}%`;
}

function bars(days: readonly Day[]): Html {
  const busiest = Math.max(...days.map(({ total }) => total));
  const top = roundUp(busiest);
  const { height, day: width, gap } = SIZE;
  const heightOf = (count: number) => (count === 0 ? 0 : Math.max(1, Math.round((count / top) * height)));
  const shapes = days.map(({ day, answered, total }, at) => {
    if (total === 0) return '';
    const rect = (kind: string, tall: number, bottom: number) =>
      tall <= 0
        ? ''
        : html`<rect class="${kind}" x="${at * width}" y="${height - bottom - tall}" width="${width - gap}" height="${tall}"/>`;
    const whole = heightOf(total);
    // Refused requests are always visible, however few there were.
    const refused = answered === total ? 0 : Math.max(1, whole - heightOf(answered));
    return html`<g><title>${dayText(day)}: ${countText(total, 'request')}</title>${rect('ok', whole - refused, 0)}${rect('other', refused, whole - refused)}</g>`;
  });
  const lines = [0, height / 2].map((y) => html`<line x2="${days.length * width}" y1="${y}" y2="${y}"/>`);
  const first = days[0] as Day;
  return html`<figure class="usage"><div class="scale" aria-hidden="true"><span>${numberText(top)}</span> <span>${numberText(top / 2)}</span> <span>0</span></div>
<svg viewBox="0 0 ${days.length * width} ${height}" preserveAspectRatio="none" aria-hidden="true">${lines}${shapes}</svg>
<div class="dates" aria-hidden="true"><span>${dayText(first.day)}</span> <span>today so far</span></div>
<figcaption><span><span class="swatch ok"></span> answered</span> <span><span class="swatch other"></span> refused</span> <span>busiest day ${numberText(busiest)}</span></figcaption></figure>`;
}

/** The top of the scale: the next round number, at least 2. */
function roundUp(count: number): number {
  const unit = 10 ** Math.floor(Math.log10(count));
  const step = [1, 2, 3, 4, 6, 8, 10].find((one) => one * unit >= count) as number;
  return Math.max(2, step * unit);
}

function dayText(day: string): string {
  return `${Number(day.slice(8))} ${MONTHS[Number(day.slice(5, 7)) - 1]}`;
}

const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];

/** A table of the days with requests, the latest first, with a column for each outcome that occurred. */
function table(days: readonly Day[]): Html {
  const used = days.filter(({ total }) => total > 0).toReversed();
  const outcomes = USAGE_OUTCOMES.filter((outcome) => used.some((day) => day[outcome] > 0));
  const head = outcomes.map((outcome) => html`<th scope="col" class="number">${OUTCOME_WORDS[outcome]}</th>`);
  const rows = used.map(
    (day) =>
      html`<tr><th scope="row">${day.day}</th>${outcomes.map((outcome) => html`<td class="number" data-label="${OUTCOME_WORDS[outcome]}">${numberText(day[outcome])}</td>`)}</tr>`,
  );
  return html`<details><summary>Days as a table</summary><table><caption>Requests by day (UTC), without days that had none</caption><thead><tr><th scope="col">Day</th>${head}</tr></thead><tbody>${rows}</tbody></table></details>`;
}
