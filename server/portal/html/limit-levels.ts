import type { Level } from '../../../shared/limits/limits.ts';
import { type RateLimit, windowWords } from '../../../shared/limits/rate-limit.ts';
import { numberText } from '../../../shared/text.ts';
import { type Html, html } from '../../html.ts';
import { relativeTime } from './time.ts';

/** What is left of each rate limit, with a bar, and when there is more. */
export function levelList(levels: readonly Level[], nowMs: number): Html {
  return html`<ul class="levels">${levels.map((level) => levelItem(level, nowMs))}</ul>`;
}

/** Below this share of a quota, its bar has the colour of a warning. */
const LOW_SHARE = 0.2;

function levelItem(level: Level, nowMs: number): Html {
  const { quota, remaining } = level;
  const look = remaining < quota * LOW_SHARE ? 'level low' : 'level';
  const bar = html`<svg class="${look}" viewBox="0 0 ${quota} 1" preserveAspectRatio="none" aria-hidden="true"><rect width="${remaining}" height="1"/></svg>`;
  return html`<li><p><span${remaining === 0 ? html` class="bad"` : ''}>${levelText(level)}</span><span class="soft">${refillText(level, nowMs)}</span></p>${bar}</li>`;
}

/** What is left of one limit: `2 447 left of 5 000 per day`. */
export function levelText({ quota, remaining, windowSeconds }: Level): string {
  return `${numberText(remaining)} left of ${limitText({ quota, windowSeconds })}`;
}

/** A limit in words: `5 000 per day`. */
export function limitText({ quota, windowSeconds }: RateLimit): string {
  return `${numberText(quota)} per ${windowWords(windowSeconds)}`;
}

/** When a limit is full again and, if it is used up, when the next request will be admitted. */
function refillText({ remaining, moreInMs, fullInMs }: Level, nowMs: number): Html {
  if (moreInMs === null || fullInMs === null) return html`unused`;
  const full = html`full again ${soonText(fullInMs, nowMs)}`;
  if (remaining > 0) return full;
  const isAtOnce = fullInMs - moreInMs < 1000;
  return html`requests get 429${isAtOnce ? '' : html` · next one possible ${soonText(moreInMs, nowMs)}`} · ${full}`;
}

/** A time from now: in seconds up to a minute, otherwise in its largest unit. */
function soonText(inMs: number, nowMs: number): Html {
  const seconds = Math.ceil(inMs / 1000);
  return seconds <= 60 ? html`in ${Math.max(1, seconds)} s` : relativeTime(nowMs + inMs, nowMs);
}
