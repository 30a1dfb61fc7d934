import { KEY_CHANGE } from '../fields/input-groups.ts';
import { hasSecret } from '../key.ts';
import type { HistoryView, KeyView } from '../view.ts';

/** The sentence for a change that changes nothing. */
export const ALREADY_SO = 'The key had all of this already; nothing was changed.';

/** The names of those fields of a {@link KEY_CHANGE} that a key has other values of. */
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

/**
 * Whether the key that an approved one replaces ends at this time or, by itself, earlier; also true if it has ended. Undefined
 * and null ask for nothing.
 */
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
