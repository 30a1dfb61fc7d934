import { hasSecret } from '../../../shared/keys/key.ts';
import { countOlder } from '../../../shared/keys/list.ts';
import type { KeyView } from '../../../shared/keys/view.ts';
import { countText } from '../../../shared/text.ts';
import { type Html, html } from '../../html.ts';
import { endText } from '../html/key-facts.ts';
import { relativeTime } from '../html/time.ts';
import type { PageContext } from '../requests/request-context.ts';

/** The line about a key in the list and under its name: since when it has been waiting, when it was last used and when it ends. */
export function keyMeta({ access }: PageContext, key: KeyView, usedAtMs: number | null): (Html | string)[] {
  const { state, requestedAt, expiresAt } = key;
  const nowMs = access.clock.nowMs();
  const asked = html`requested ${relativeTime(Date.parse(requestedAt), nowMs)}`;
  if (state === 'pending') return [asked, waiting(access, key)];
  const used = usedAtMs === null ? null : html`last used ${relativeTime(usedAtMs, nowMs)}`;
  if (!hasSecret(state)) return [asked, ...(used === null ? [] : [used])];
  return [used ?? 'not used yet', ...(expiresAt === null ? [] : [endText(key, nowMs)])];
}

function waiting(access: PageContext['access'], { identifier }: KeyView): string {
  const older = countOlder(access, identifier);
  return older === 0 ? 'next in line' : `${countText(older, 'request')} ahead of it`;
}
