import type { Permission } from '../../db/key-columns.ts';
import { areSameLimits } from '../../limits/account.ts';
import type { KeyChange } from '../fields/input-groups.ts';
import type { KeyView } from '../view.ts';

/** The sentence for a change that changes nothing. */
export const ALREADY_SO = 'The key had all of this already; nothing was changed.';

/** The part of a change that differs from the key. */
export function differingFrom(has: KeyView, { permissions, rateLimits, expiresAtMs }: KeyChange): KeyChange {
  const endsAtMs = has.expiresAt === null ? null : Date.parse(has.expiresAt);
  return {
    ...(permissions && !isSameSet(permissions, has.permissions) && { permissions }),
    ...(rateLimits && !areSameLimits(rateLimits, has.rateLimits) && { rateLimits }),
    ...(expiresAtMs !== undefined && expiresAtMs !== endsAtMs && { expiresAtMs }),
  };
}

function isSameSet(one: readonly Permission[], other: readonly Permission[]): boolean {
  return one.length === other.length && one.every((permission) => other.includes(permission));
}
