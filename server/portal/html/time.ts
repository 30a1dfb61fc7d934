import { DAY_MS, isoTime } from '../../../shared/clock.ts';
import { countText, numberText } from '../../../shared/text.ts';
import { type Html, html } from '../../html.ts';

// Times are milliseconds since 1970. A script on every page (local-time.browser.js) converts exact ones to the browser's zone.

/** A time in UTC, to the minute: `2026-01-31 09:05 UTC`. */
export function timeText(ms: number): Html {
  return html`<time datetime="${isoTime(ms)}">${exactText(ms)} UTC</time>`;
}

/** The time of a day that is named elsewhere, exact on hover: `18:22`. */
export function clockTime(ms: number): Html {
  return html`<time datetime="${isoTime(ms)}" title="${exactText(ms)} UTC">${isoTime(ms).slice(11, 16)}</time>`;
}

/** In sentences for terminals: ISO times, and numbers from 1000 on before a plural noun or after "it has". */
const IN_SENTENCES =
  /(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z|(?<![\w.:/-])[1-9]\d{3,14}(?= [a-z]+s\b)|(?<= it has )[1-9]\d{3,14}(?=\.))/;

/**
 * Adapts a sentence that terminals show too, such as that of a refusal, to pages: times in the browser's zone, and thousands
 * separated. The sentence may contain a name that looks like a time and is none.
 */
export function pageSentence(sentence: string): Html {
  const parts = sentence.split(IN_SENTENCES).map((part, at): string | Html => {
    if (at % 2 === 0) return part;
    if (!part.endsWith('Z')) return numberText(Number(part));
    const ms = Date.parse(part);
    return Number.isNaN(ms) ? part : timeText(ms);
  });
  return html`${parts}`;
}

/** A time relative to now, exact on hover: `2 days ago`, `in 19 days`, `just now`. */
export function relativeTime(ms: number, nowMs: number): Html {
  return html`<time datetime="${isoTime(ms)}" title="${exactText(ms)} UTC">${distanceText(ms - nowMs)}</time>`;
}

/** How long something has lasted, exact on hover: `2 days`. */
export function durationSince(ms: number, nowMs: number): Html {
  return html`<time datetime="${isoTime(ms)}" title="${exactText(ms)} UTC">${spanText(nowMs - ms)}</time>`;
}

function distanceText(ms: number): string {
  if (Math.abs(ms) < MINUTE_MS) return 'just now';
  return ms < 0 ? `${spanText(-ms)} ago` : `in ${spanText(ms)}`;
}

/** A duration in its largest unit, rounded down: `2 days`, `1 hour`, `14 months`; the shortest is `less than a minute`. */
export function spanText(ms: number): string {
  const unit = UNITS.find(({ fromMs }) => ms >= fromMs);
  return unit === undefined ? 'less than a minute' : countText(Math.floor(ms / unit.ms), unit.name);
}

const MINUTE_MS = 60_000;

/** The units, and the shortest duration for which each is used: `45 days` is more precise than `1 month`. */
const UNITS = [
  { name: 'year', ms: 365 * DAY_MS, fromMs: 730 * DAY_MS },
  { name: 'month', ms: 30 * DAY_MS, fromMs: 60 * DAY_MS },
  { name: 'day', ms: DAY_MS, fromMs: DAY_MS },
  { name: 'hour', ms: 60 * MINUTE_MS, fromMs: 60 * MINUTE_MS },
  { name: 'minute', ms: MINUTE_MS, fromMs: MINUTE_MS },
];

function exactText(ms: number): string {
  return isoTime(ms).slice(0, 16).replace('T', ' ');
}
