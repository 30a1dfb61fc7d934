import type { Level } from '../../../shared/limits/limits.ts';
import { countText, numberText } from '../../../shared/text.ts';
import { countRequests } from '../../../shared/usage/outcomes.ts';
import type { UsageView } from '../../../shared/usage/usage-view.ts';
import { type Html, html } from '../../html.ts';
import { publicPath } from '../../http/public-path.ts';
import { limitText } from '../html/limit-levels.ts';
import type { PageContext } from '../requests/request-context.ts';

// Explains why a program got 429, because owners often look only when the limit is full again.

/** How many days {@link refusedLately} looks at: today and yesterday (UTC). */
export const REFUSED_DAYS = 2;

/** How many of a key's requests exceeded a limit on one of these days, and how many there were. */
type Refused = { count: number; total: number; day: 'today' | 'yesterday' };

function refusedLately(days: UsageView['days']): Refused | null {
  for (const [day, ago] of [
    ['today', 1],
    ['yesterday', REFUSED_DAYS],
  ] as const) {
    const counts = days.at(-ago);
    if (counts !== undefined && counts.limited > 0) {
      return { count: counts.limited, total: countRequests(counts), day };
    }
  }
  return null;
}

/** For the list of keys: `40 requests got 429 today, over 60 per minute`; null if none did today or yesterday. */
export function refusedInShort(days: UsageView['days'], levels: readonly Level[]): Html | null {
  const refused = refusedLately(days);
  if (refused === null) return null;
  return html`${countText(refused.count, 'request')} got 429 ${refused.day}${overText(levels)}`;
}

/** For the page of a key: how many of its requests got 429, by which limit, and what to do; empty if none did. */
export function refusedNote({ access: { config } }: PageContext, { days }: UsageView, levels: readonly Level[]): Html {
  const refused = refusedLately(days);
  if (refused === null) return html``;
  const { count, total, day } = refused;
  const which = overText(levels) || ', over a rate limit, which each response names';
  const rules = html`<a href="${publicPath(config, '/docs#rate-limits')}">Rate limits</a>`;
  return html`<p class="note warn"><strong>${numberText(count)} of ${countText(total, 'request')} got 429 ${day}${which}.</strong> After a 429, wait for the number of seconds in <code>Retry-After</code>. See ${rules}.</p>`;
}

/** The limits that are used up: `, over 60 per minute and 5 000 per day`; empty if none is any more, unless there is only one. */
function overText(levels: readonly Level[]): string {
  const named = levels.length === 1 ? levels : levels.filter(({ remaining }) => remaining === 0);
  return named.length === 0 ? '' : `, over ${named.map(limitText).join(' and ')}`;
}
