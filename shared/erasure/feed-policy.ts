import { and, eq, ne, sql } from 'drizzle-orm';
import { DAY_MS } from '../clock.ts';
import type { Tx } from '../db/connect.ts';
import { platformErasures } from '../db/schema/people.ts';
import { profiles } from '../db/schema/profiles.ts';
import { isSameAddress } from '../mail/address.ts';
import type { MailConfig } from '../mail/outbox.ts';
import type { EffectsOnKeys } from '../profiles/apply.ts';
import { fieldRefusal, type Refusal } from '../profiles/line.ts';
import { foldName } from '../profiles/name.ts';
import { effectsOnKeys } from './erase-profile.ts';

/** The limits of a backend's lines, from its token. */
export type BackendLimits = {
  name: string;
  /** Whether the lines leave `email`, `authId` and `banned` unchanged, and can't erase banned profiles. */
  excludesContactFields: boolean;
  /** The number of profiles that the tokens of this name may erase per day (UTC). */
  eraseLimit: number;
};

/** The fields that would allow a backend to take over a profile, or lock its owner out. */
const GUARDED = ['email', 'authId', 'banned'] as const;

/** Without this refusal, a banned profile could be erased and created again without the ban. */
const BANNED_STAYS = deletionRefused('a banned profile may not be erased with this token');

/** The effects of a backend's import on keys, and the restrictions of its token. */
export function effectsOfBackend(limits: BackendLimits, config: MailConfig): EffectsOnKeys {
  const { name, excludesContactFields, eraseLimit } = limits;
  return {
    ...effectsOnKeys({ kind: 'backend', name }, config),
    refuseErasure: (tx, id, nowMs) => {
      const held = tx.select({ banned: profiles.banned }).from(profiles).where(eq(profiles.id, id)).get();
      // Erasures of missing profiles are not counted.
      if (held === undefined) return null;
      if (excludesContactFields && held.banned) return BANNED_STAYS;
      return countErasure(tx, { folded: foldName(name), eraseLimit, nowMs });
    },
    ...(excludesContactFields && { refuseProfile: keepGuarded }),
  };
}

/**
 * Keeps guarded fields that are absent from the line, even if it replaces the profile, and refuses other values. An
 * e-mail address that differs only in case counts as unchanged and stays as it is stored.
 */
const keepGuarded: NonNullable<EffectsOnKeys['refuseProfile']> = (line, wanted, held) => {
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
function countErasure(
  tx: Tx,
  { folded, eraseLimit, nowMs }: { folded: string; eraseLimit: number; nowMs: number },
): Refusal | null {
  const day = Math.floor(nowMs / DAY_MS);
  const counts = platformErasures;
  const row = tx
    .select({ erased: counts.erased })
    .from(counts)
    .where(and(eq(counts.folded, folded), eq(counts.day, day)))
    .get();
  if ((row?.erased ?? 0) >= eraseLimit) {
    return deletionRefused(`this backend has reached its limit of ${eraseLimit} erased profiles per day (UTC)`);
  }
  if (row === undefined) {
    tx.delete(counts)
      .where(and(eq(counts.folded, folded), ne(counts.day, day)))
      .run();
  }
  tx.insert(counts)
    .values({ folded, day, erased: 1 })
    .onConflictDoUpdate({ target: [counts.folded, counts.day], set: { erased: sql`${counts.erased} + 1` } })
    .run();
  return null;
}
