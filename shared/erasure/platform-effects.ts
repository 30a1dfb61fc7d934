import { DAY_MS } from '../clock.ts';
import type { Sqlite } from '../db/connect.ts';
import { foldName } from '../profiles/name.ts';
import type { EffectsOnKeys } from '../profiles/write/apply.ts';
import type { Refusal } from '../profiles/write/refusal.ts';
import { effectsOnKeys } from './erase-profile.ts';

/** What the lines of a platform may do; both come from its token. */
export type PlatformLimits = {
  name: string;
  /** Whether they leave `email`, `authId` and `banned` as they are. */
  isWithoutAddress: boolean;
  /** How many profiles the tokens of this name may erase on a day (UTC). */
  eraseLimit: number;
};

/** Whoever may set these may become the owner of a profile, or shut its owner out. */
const GUARDED = ['email', 'authId', 'banned'] as const;

/** What an import that a platform sends does to keys, and what it may not do. */
export function effectsOfPlatform(limits: PlatformLimits): EffectsOnKeys {
  const { name, isWithoutAddress, eraseLimit } = limits;
  return {
    ...effectsOnKeys({ kind: 'platform', name }),
    refuseErasure: (sqlite, id, nowMs) => countErasure(sqlite, { id, folded: foldName(name), eraseLimit, nowMs }),
    ...(isWithoutAddress && { refuseRow: keepGuarded }),
  };
}

/** Fields that the line lacks stay as they are, also where it replaces the profile; other values are refused. */
const keepGuarded: NonNullable<EffectsOnKeys['refuseRow']> = (columns, wanted, held) => {
  for (const field of GUARDED) {
    const kept = held?.[field] ?? (field === 'banned' ? false : null);
    if (columns[field] === undefined) Object.assign(wanted, { [field]: kept });
    else if (wanted[field] !== kept) {
      const rule = 'may not be changed with this token';
      return { field, reason: `${field} ${rule}`, sum: `${field} ${rule}` };
    }
  }
  return null;
};

/** Counts an erasure inside the transaction that makes it; a profile that is not there is not counted. */
function countErasure(
  sqlite: Sqlite,
  { id, folded, eraseLimit, nowMs }: { id: number; folded: string; eraseLimit: number; nowMs: number },
): Refusal | null {
  if (sqlite.query('SELECT 1 FROM profiles WHERE id = ?').get(id) === null) return null;
  const day = Math.floor(nowMs / DAY_MS);
  const row = sqlite
    .query<{ erased: number }, [string, number]>('SELECT erased FROM platform_erasures WHERE folded = ? AND day = ?')
    .get(folded, day);
  if ((row?.erased ?? 0) >= eraseLimit) {
    const reason = `this platform may erase ${eraseLimit} profiles a day (UTC), and has`;
    return { field: 'deleted', reason, sum: reason };
  }
  if (row === null) sqlite.query('DELETE FROM platform_erasures WHERE folded = ? AND day <> ?').run(folded, day);
  sqlite
    .query(
      'INSERT INTO platform_erasures (folded, day, erased) VALUES (?, ?, 1) ON CONFLICT DO UPDATE SET erased = erased + 1',
    )
    .run(folded, day);
  return null;
}
