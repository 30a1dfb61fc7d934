import { countText, numberText } from '../../../shared/text.ts';
import {
  countAnswered,
  countRequests,
  USAGE_OUTCOMES,
  type UsageOutcome,
  type UsageView,
} from '../../../shared/usage/usage.ts';
import { type Html, html } from '../../html.ts';

/** The labels of the outcomes of requests. */
const OUTCOME_WORDS: Readonly<Record<UsageOutcome, string>> = {
  ok: 'Successful',
  notFound: 'Not found',
  forbidden: 'Without permission',
  malformed: 'Malformed',
  limited: 'Over a limit',
  failed: 'Failed',
};

type Day = UsageView['days'][number] & { total: number; answered: number };

/** The chart's height, and the width of a day with its gap, in the units of the SVG. */
const SIZE = { height: 100, day: 10, gap: 2 } as const;

/** The usage of a key, or of all keys, by day: a heading with a summary, a bar chart and a table. */
export function usageChart({ days }: Pick<UsageView, 'days'>, title: string): Html {
  const all = days.map((day): Day => ({ ...day, total: countRequests(day), answered: countAnswered(day) }));
  const sum = all.reduce((sum, { total }) => sum + total, 0);
  const answered = all.reduce((sum, day) => sum + day.answered, 0);
  const summary = sum === 0 ? 'no requests' : `${countText(sum, 'request')}, ${percentText(answered, sum)} answered`;
  return html`<section class="card" aria-labelledby="usage"><div class="head"><h2 id="usage">${title}</h2><p class="soft">${summary}</p></div>${sum === 0 ? '' : [bars(all, sum, answered), table(all)]}</section>`;
}

/** A share in whole percent; only exact ones are shown as 0% and 100%. */
export function percentText(part: number, whole: number): string {
  const percent = Math.round((part / whole) * 100);
  if (percent === 100 && part < whole) return 'over 99%';
  return percent === 0 && part > 0 ? 'under 1%' : `${percent}%`;
}

function bars(days: readonly Day[], sum: number, answered: number): Html {
  const top = roundUp(Math.max(...days.map(({ total }) => total)));
  const { height, day: width, gap } = SIZE;
  const heightOf = (count: number) => (count === 0 ? 0 : Math.max(1, Math.round((count / top) * height)));
  const shapes = days.map(({ day, answered, total }, at) => {
    const rect = (kind: string, tall: number, bottom: number) =>
      tall <= 0
        ? ''
        : html`<rect class="${kind}" x="${at * width + gap}" y="${height - bottom - tall}" width="${width - 2 * gap}" height="${tall}"/>`;
    const whole = heightOf(total);
    // Refused requests are always visible, however few there were.
    const refused = answered === total ? 0 : Math.max(1, whole - heightOf(answered));
    const today = at === days.length - 1 ? html` class="today"` : '';
    const title = `${dayText(day)}: ${numberText(answered)} answered, ${numberText(total - answered)} refused`;
    return html`<g${today}><title>${title}</title><rect class="day" x="${at * width}" width="${width}" height="${height}"/>${rect('answered', whole - refused, 0)}${rect('refused', refused, whole - refused)}</g>`;
  });
  const lines = [0.5, height / 2].map((y) => html`<line x2="${days.length * width}" y1="${y}" y2="${y}"/>`);
  const [first = '', middle = ''] = [0, Math.floor(days.length / 2)].map((at) => dayText((days[at] as Day).day));
  const said = `Requests by day since ${first}: ${numberText(answered)} answered, ${numberText(sum - answered)} refused`;
  return html`<figure class="chart"><svg viewBox="0 0 ${days.length * width} ${height}" preserveAspectRatio="none" role="img" aria-label="${said}">${lines}${shapes}</svg>
<p class="scale" aria-hidden="true"><span>${numberText(top)}</span><span>${numberText(top / 2)}</span><span>0</span></p>
<p class="dates" aria-hidden="true"><span>${first}</span><span>${middle}</span><span>today so far</span></p>
<figcaption><span>answered</span><span class="over">refused</span></figcaption></figure>`;
}

/** The top of the scale: the next round number, at least 2. */
function roundUp(count: number): number {
  const unit = 10 ** Math.floor(Math.log10(count));
  const step = [1, 2, 3, 4, 6, 8, 10].find((one) => one * unit >= count) as number;
  const top = Math.max(2, step * unit);
  // So that half of it is a whole number too.
  return top + (top % 2);
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
      html`<tr><th scope="row">${day.day}</th>${outcomes.map((outcome) => html`<td class="number">${numberText(day[outcome])}</td>`)}</tr>`,
  );
  return html`<details><summary class="soft">Show as a table</summary><table class="wide" tabindex="0"><caption class="unseen">Requests by day (UTC), without days that had none</caption><thead><tr><th scope="col">Day</th>${head}</tr></thead><tbody>${rows}</tbody></table></details>`;
}
