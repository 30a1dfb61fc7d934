import type { Permission } from '../db/key-columns.ts';
import { areSameLimits } from '../limits/account.ts';
import type { RateLimit } from '../limits/rate-limit.ts';
import type { KeyChange } from './input-groups.ts';
import type { KeyView } from './view.ts';

/** What whoever changes a key is told where it was so already. */
export const ALREADY_SO = 'The key had all of this already; nothing was changed.';

/** What of a wanted grant differs from what a key is shown to have. */
export function differingFrom(
  { permissions, rateLimits, expiresAt }: KeyView,
  wanted: { permissions: Permission[]; rateLimits: RateLimit[]; expiresAtMs: number | null },
): KeyChange {
  const hasSame = permissions.length === wanted.permissions.length;
  const expiresAtMs = expiresAt === null ? null : Date.parse(expiresAt);
  return {
    ...(!(hasSame && wanted.permissions.every((one) => permissions.includes(one))) && {
      permissions: wanted.permissions,
    }),
    ...(!areSameLimits(wanted.rateLimits, rateLimits) && { rateLimits: wanted.rateLimits }),
    ...(wanted.expiresAtMs !== expiresAtMs && { expiresAtMs: wanted.expiresAtMs }),
  };
}
