import { DAY_MS } from '../clock.ts';
import type { Sqlite } from '../db/connect.ts';
import { isSameAddress } from '../mail/address.ts';
import { foldName } from '../profiles/name.ts';
import type { EffectsOnKeys } from '../profiles/write/pass.ts';
import type { Refusal } from '../profiles/write/refusal.ts';
import { effectsOnKeys } from './erase-profile.ts';

/** What the lines of a platform may do; both come from its token. */
export type PlatformLimits = {
  name: string;
  /** Whether they leave `email`, `authId` and `banned` as they are, and erase no banned profile. */
  isWithoutAddress: boolean;
  /** How many profiles the tokens of this name may erase on a day (UTC). */
  eraseLimit: number;
};

/** Whoever may set these may become the owner of a profile, or shut its owner out. */
const GUARDED = ['email', 'authId', 'banned'] as const;

/** A banned profile that is erased and then created again would not be banned any more. */
const BANNED_STAYS = deletionRefused('a banned profile may not be erased with this token');

/** What an import that a platform sends does to keys, and what it may not do. */
export function effectsOfPlatform(limits: PlatformLimits): EffectsOnKeys {
  const { name, isWithoutAddress, eraseLimit } = limits;
  return {
    ...effectsOnKeys({ kind: 'platform', name }),
    refuseErasure: (sqlite, id, nowMs) => {
      const held = sqlite.query<{ banned: number }, [number]>('SELECT banned FROM profiles WHERE id = ?').get(id);
      // A profile that is not there is not counted.
      if (held === null) return null;
      if (isWithoutAddress && held.banned === 1) return BANNED_STAYS;
      return countErasure(sqlite, { folded: foldName(name), eraseLimit, nowMs });
    },
    ...(isWithoutAddress && { refuseRow: keepGuarded }),
  };
}

/**
 * Fields that the line lacks stay as they are, also where it replaces the profile; other values are refused. An address in
 * another case is the same, and stays as it is stored.
 */
const keepGuarded: NonNullable<EffectsOnKeys['refuseRow']> = (columns, wanted, held) => {
  for (const field of GUARDED) {
    const kept = held === null ? (field === 'banned' ? 0 : null) : held[field];
    const isSame = field === 'email' && isSameAddress(wanted.email, held?.email ?? null);
    if (columns[field] === undefined || isSame) Object.assign(wanted, { [field]: kept });
    else if (wanted[field] !== kept) {
      const rule = 'may not be changed with this token';
      return { field, reason: `${field} ${rule}`, sum: `${field} ${rule}` };
    }
  }
  return null;
};

function deletionRefused(reason: string): Refusal {
  return { field: 'deleted', reason, sum: reason };
}

/** Counts an erasure inside the transaction that makes it. */
function countErasure(
  sqlite: Sqlite,
  { folded, eraseLimit, nowMs }: { folded: string; eraseLimit: number; nowMs: number },
): Refusal | null {
  const day = Math.floor(nowMs / DAY_MS);
  const row = sqlite
    .query<{ erased: number }, [string, number]>('SELECT erased FROM platform_erasures WHERE folded = ? AND day = ?')
    .get(folded, day);
  if ((row?.erased ?? 0) >= eraseLimit) {
    return deletionRefused(`this platform may erase ${eraseLimit} profiles a day (UTC), and has`);
  }
  if (row === null) sqlite.query('DELETE FROM platform_erasures WHERE folded = ? AND day <> ?').run(folded, day);
  sqlite
    .query(
      'INSERT INTO platform_erasures (folded, day, erased) VALUES (?, ?, 1) ON CONFLICT DO UPDATE SET erased = erased + 1',
    )
    .run(folded, day);
  return null;
}
