import { isoTime } from '../../../shared/clock.ts';
import { type Html, html } from '../../html.ts';

/** A moment as pages show it, in UTC to the minute: `2026-01-31 09:05 UTC`. `ms` is milliseconds since 1970. */
export function timeText(ms: number): Html {
  const iso = isoTime(ms);
  return html`<time datetime="${iso}">${iso.slice(0, 10)} ${iso.slice(11, 16)} UTC</time>`;
}
