import { type Level, readLevels } from '../../../shared/limits/levels.ts';
import { type RateLimit, windowWords } from '../../../shared/limits/rate-limit.ts';
import type { Access } from '../../../shared/sessions-file/access.ts';
import { numberText } from '../../../shared/text.ts';
import { type Html, html } from '../../html.ts';
import { relativeTime } from './time.ts';

/** What is left of the rate limits of keys, by identifier; null if the quota file can't say. */
export function levelsByKey(
  { config, clock }: Pick<Access, 'config' | 'clock'>,
  keys: readonly { identifier: string; rateLimits: readonly RateLimit[] }[],
): ReadonlyMap<string, readonly Level[]> | null {
  return readLevels(config.databasePath, keys, clock.nowMs());
}

/** What is left of each rate limit, with a bar, and when there is more; only the limits if the levels are unknown. */
export function levelList(limits: readonly RateLimit[], levels: readonly Level[] | null, nowMs: number): Html {
  const items =
    levels?.map((level) => levelItem(level, nowMs)) ?? limits.map((limit) => html`<li>${limitText(limit)}</li>`);
  return html`<ul class="levels">${items}</ul>`;
}

function levelItem(level: Level, nowMs: number): Html {
  const { quota, remaining } = level;
  const bar = html`<svg viewBox="0 0 ${quota} 1" preserveAspectRatio="none" aria-hidden="true"><rect width="${remaining}" height="1"/></svg>`;
  return html`<li${remaining === 0 ? EMPTY : ''}><span><strong>${levelText(level)}</strong> <span>${refillText(level, nowMs)}</span></span>${bar}</li>`;
}

const EMPTY = html` class="empty"`;

/** What is left of one limit: `2 447 left of 5 000 per day`. */
export function levelText({ quota, remaining, windowSeconds }: Level): string {
  return `${numberText(remaining)} left of ${limitText({ quota, windowSeconds })}`;
}

/** A limit in words: `5 000 per day`. */
export function limitText({ quota, windowSeconds }: RateLimit): string {
  return `${numberText(quota)} per ${windowWords(windowSeconds)}`;
}

/** When a limit is full again and, if it is used up, when the next request will be admitted. */
function refillText({ remaining, moreAtMs, fullAtMs }: Level, nowMs: number): Html {
  if (moreAtMs === null || fullAtMs === null) return html`unused`;
  const full = html`full again ${soonText(fullAtMs, nowMs)}`;
  if (remaining > 0) return full;
  const isAtOnce = fullAtMs - moreAtMs < 1000;
  return html`requests get 429${isAtOnce ? '' : html` · next one possible ${soonText(moreAtMs, nowMs)}`} · ${full}`;
}

/** The time until a moment: in seconds up to a minute, otherwise in its largest unit. */
function soonText(ms: number, nowMs: number): Html {
  const seconds = Math.ceil((ms - nowMs) / 1000);
  return seconds <= 60 ? html`in ${Math.max(1, seconds)} s` : relativeTime(ms, nowMs);
}
