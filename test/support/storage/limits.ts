import type { LimitedKey } from '../../../shared/limits/account.ts';
import type { Limits } from '../../../shared/limits/limits.ts';

/** The remaining quota of each limit of a key, in the order of its limits. */
export function left(limits: Limits, key: LimitedKey): number[] {
  const account = limits.accountOf(key);
  limits.look(account);
  return account.rings.map(({ remaining }) => remaining);
}

/** Spends this many requests of a key, as `Limits.spend` does. */
export function use(limits: Limits, key: LimitedKey, count = 1): number | null {
  return limits.spend(limits.accountOf(key), count);
}
