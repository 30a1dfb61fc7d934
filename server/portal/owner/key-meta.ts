import { hasSecret } from '../../../shared/keys/key.ts';
import type { KeyView } from '../../../shared/keys/view.ts';
import { countOlder } from '../../../shared/keys/waiting.ts';
import { type Level, lastSpentMs } from '../../../shared/limits/levels.ts';
import { countText } from '../../../shared/text.ts';
import { type Html, html } from '../../html.ts';
import { endText } from '../html/key-facts.ts';
import { relativeTime } from '../html/time.ts';
import type { PageContext } from '../requests/request-context.ts';

/**
 * The line about a key in the list and under its name: since when it has been waiting, when it was last used and when it
 * ends. `levels` include requests that are not in the usage counts yet.
 */
export function keyMeta(
  { access }: PageContext,
  key: KeyView,
  countedAtMs: number | null,
  levels: readonly Level[],
): (Html | string)[] {
  const { state, requestedAt, expiresAt } = key;
  const nowMs = access.clock.nowMs();
  const asked = html`requested ${relativeTime(Date.parse(requestedAt), nowMs)}`;
  if (state === 'pending') return [asked, waiting(access, key)];
  const usedAtMs = Math.max(countedAtMs ?? 0, lastSpentMs(levels) ?? 0);
  const used = usedAtMs === 0 ? null : html`last used ${relativeTime(usedAtMs, nowMs)}`;
  if (!hasSecret(state)) return [asked, ...(used === null ? [] : [used])];
  return [used ?? 'not used yet', ...(expiresAt === null ? [] : [endText(key, nowMs)])];
}

function waiting(access: PageContext['access'], { identifier }: KeyView): string {
  const older = countOlder(access, identifier);
  return older === 0 ? 'next in line' : `${countText(older, 'request')} ahead of it`;
}
