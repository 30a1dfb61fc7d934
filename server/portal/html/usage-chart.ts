import { USAGE_OUTCOMES, type UsageOutcome } from '../../../shared/keys/usage-outcomes.ts';
import { countText, numberText } from '../../../shared/text.ts';
import type { UsageView } from '../../../shared/usage/usage-view.ts';
import { type Html, html } from '../../html.ts';
import { timeText } from './time.ts';

/** So many days of usage are shown of a key. */
export const USAGE_DAYS = 30;

/** What each outcome of a request is called. */
const WORDS: Readonly<Record<UsageOutcome, string>> = {
  ok: 'Answered',
  notFound: 'Not found',
  forbidden: 'Without permission',
  malformed: 'Malformed',
  limited: 'Over a limit',
  failed: 'Failed',
};

type Day = UsageView['days'][number] & { total: number };

/** Height of the picture, and width of a day with its gap, in the units of the picture. */
const SIZE = { height: 60, day: 10, gap: 2 } as const;

/** What a key was used for, by day: a sentence, bars (of which a screen reader is told the sentence), and a table. */
export function usageChart({ days, lastUsedAt }: UsageView): Html {
  const all = days.map((day): Day => ({ ...day, total: USAGE_OUTCOMES.reduce((sum, one) => sum + day[one], 0) }));
  const sum = all.reduce((sum, { total }) => sum + total, 0);
  const last = lastUsedAt === null ? 'It was not used yet.' : html`Last used ${timeText(Date.parse(lastUsedAt))}.`;
  const head = html`<p>${countText(sum, 'request')} in the last ${countText(days.length, 'day')} (UTC). ${last}</p>`;
  return sum === 0 ? head : html`${head}${bars(all)}${table(all)}`;
}

function bars(days: readonly Day[]): Html {
  const most = Math.max(...days.map(({ total }) => total));
  const { height, day: width, gap } = SIZE;
  const heightOf = (count: number) => (count === 0 ? 0 : Math.max(1, Math.round((count / most) * height)));
  const shapes = days.map(({ day, ok, total }, at) => {
    if (total === 0) return '';
    const [whole, answered] = [heightOf(total), heightOf(ok)];
    const rect = (kind: string, tall: number, bottom: number) =>
      tall <= 0
        ? ''
        : html`<rect class="${kind}" x="${at * width}" y="${height - bottom - tall}" width="${width - gap}" height="${tall}"/>`;
    // Whatever was refused is seen, however little it was.
    const refused = ok === total ? 0 : Math.max(1, whole - answered);
    return html`<g><title>${day}: ${countText(total, 'request')}</title>${rect('ok', whole - refused, 0)}${rect('other', refused, whole - refused)}</g>`;
  });
  const [first, last] = [days[0], days.at(-1)] as [Day, Day];
  return html`<figure class="usage"><svg viewBox="0 0 ${days.length * width} ${height}" preserveAspectRatio="none" aria-hidden="true">${shapes}</svg>
<figcaption><span>${first.day}</span><span><span class="swatch ok"></span> answered <span class="swatch other"></span> anything else; at most ${numberText(most)} a day</span><span>${last.day}</span></figcaption></figure>`;
}

/** The days with requests, the latest first, with those outcomes that there were. */
function table(days: readonly Day[]): Html {
  const used = days.filter(({ total }) => total > 0).toReversed();
  const outcomes = USAGE_OUTCOMES.filter((outcome) => used.some((day) => day[outcome] > 0));
  const head = outcomes.map((outcome) => html`<th scope="col" class="number">${WORDS[outcome]}</th>`);
  const rows = used.map(
    (day) =>
      html`<tr><th scope="row">${day.day}</th>${outcomes.map((outcome) => html`<td class="number" data-label="${WORDS[outcome]}">${numberText(day[outcome])}</td>`)}</tr>`,
  );
  return html`<details><summary>The same as a table</summary><table class="stack"><caption>Requests by day; a day without requests is left out</caption><thead><tr><th scope="col">Day</th>${head}</tr></thead><tbody>${rows}</tbody></table></details>`;
}
