import { KEY_CHANGE } from '../fields/input-groups.ts';
import { hasSecret } from '../key.ts';
import type { HistoryView, KeyView } from '../view.ts';

/** The warning of a change that changes nothing. */
export const ALREADY_SO = 'The key already had these values; nothing was changed.';

/** The refusal of such a change before it is confirmed by a passkey. */
export const IS_ALREADY_SO = 'The key already has these values; nothing would change.';

/** The names of the fields of a change whose values the key does not have. */
export function lackedOf(key: KeyView, change: Readonly<Record<string, unknown>>): string[] {
  const has: Readonly<Record<string, unknown>> = {
    permissions: key.permissions,
    rateLimits: key.rateLimits,
    expiresAtMs: key.expiresAt === null ? null : Date.parse(key.expiresAt),
  };
  const wanted = Object.entries(KEY_CHANGE.parse(change));
  return wanted
    .filter(([name, value]) => value !== undefined && !Bun.deepEquals(value, has[name]))
    .map(([name]) => name);
}

/** Whether the key that an approved one replaces has ended, or expires at this time or earlier; true without a time. */
export function isRetired(
  { history, predecessor }: { history: readonly HistoryView[]; predecessor: KeyView | null },
  retireOldAtMs: number | null | undefined,
): boolean {
  if (retireOldAtMs === undefined || retireOldAtMs === null) return true;
  const retiresOldAt = history.findLast(({ detail }) => detail?.retiresOldAt !== undefined)?.detail?.retiresOldAt;
  if (retiresOldAt !== undefined) return Date.parse(retiresOldAt) === retireOldAtMs;
  if (predecessor === null) return false;
  const { state, expiresAt } = predecessor;
  return !hasSecret(state) || (expiresAt !== null && Date.parse(expiresAt) <= retireOldAtMs);
}
