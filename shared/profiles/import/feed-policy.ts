import { eq, sql } from 'drizzle-orm';
import { DAY_MS } from '../../clock.ts';
import type { Tx } from '../../db/connect.ts';
import { backendTokens, profiles } from '../../db/schema.ts';
import { isSameAddress } from '../../mail/address.ts';
import { type BackendToken, requireToken } from '../../tokens.ts';
import type { Policy } from '../apply.ts';
import { fieldRefusal, type Refusal } from '../line.ts';

/** How many profiles a backend may erase per day (UTC). */
export const ERASURES_PER_DAY = 1_000;

/** The fields that would allow a backend to take over a profile, or lock its owner out. */
const GUARDED = ['email', 'authId', 'banned'] as const;

/** Without this refusal, a banned profile could be erased and created again without the ban. */
const BANNED_STAYS = deletionRefused('a banned profile may not be erased with this token');

/** The restrictions of a backend's token. */
export function policyOf({
  identifier,
  excludesContactFields,
}: Pick<BackendToken, 'identifier' | 'excludesContactFields'>): Policy {
  return {
    requireToken: (tx) => requireToken(tx, identifier),
    refuseErasure: (tx, id, nowMs) => {
      const held = tx.select({ banned: profiles.banned }).from(profiles).where(eq(profiles.id, id)).get();
      // Erasures of missing profiles are not counted.
      if (held === undefined) return null;
      if (excludesContactFields && held.banned) return BANNED_STAYS;
      return countErasure(tx, identifier, nowMs);
    },
    refuseProfile: excludesContactFields ? keepGuarded : () => null,
  };
}

/**
 * Keeps guarded fields that are absent from the line, even if it replaces the profile, and refuses other values. An
 * e-mail address that differs only in case counts as unchanged and stays as it is stored.
 */
const keepGuarded: Policy['refuseProfile'] = (line, wanted, held) => {
  const kept = held ?? { email: null, authId: null, banned: false };
  for (const field of GUARDED) {
    const isSame = field === 'email' && isSameAddress(wanted.email, kept.email);
    if (line[field] === undefined || isSame) Object.assign(wanted, { [field]: kept[field] });
    else if (wanted[field] !== kept[field]) return fieldRefusal(field, 'may not be changed with this token');
  }
  return null;
};

function deletionRefused(reason: string): Refusal {
  return { field: 'deleted', reason, sum: reason };
}

/** Counts an erasure inside its transaction; a refusal if the limit is reached. */
function countErasure(tx: Tx, identifier: string, nowMs: number): Refusal | null {
  const day = Math.floor(nowMs / DAY_MS);
  const { erasedOn, erased } = backendTokens;
  const today = sql<number>`iif(${erasedOn} = ${day}, ${erased}, 0)`;
  const isIt = eq(backendTokens.identifier, identifier);
  const counted = tx.select({ erased: today }).from(backendTokens).where(isIt).get();
  if ((counted?.erased ?? 0) >= ERASURES_PER_DAY) {
    return deletionRefused(`this backend has reached its limit of ${ERASURES_PER_DAY} erased profiles per day (UTC)`);
  }
  tx.update(backendTokens)
    .set({ erased: sql`${today} + 1`, erasedOn: day })
    .where(isIt)
    .run();
  return null;
}
