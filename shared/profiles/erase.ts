import { eq } from 'drizzle-orm';
import type { Actor } from '../actor.ts';
import { emptyLog } from '../db/empty-log.ts';
import { noteErasure } from '../db/erasures.ts';
import { type Db, type Tx, write } from '../db/open.ts';
import { profileNames, profiles } from '../db/schema.ts';
import type { Deps } from '../deps.ts';
import { AppError } from '../errors.ts';
import { eraseKeysOfProfile } from '../keys/erase.ts';
import { noteChanges } from './changes.ts';
import { checkedFold } from './name.ts';

/** Which profile a name leads to. */
export type ProfileRef = { id: number; username: string };

/**
 * Erases a profile for good, by its username or an alias: its row, names and links go, its keys stop working and lose
 * every text. `by` is who did it, for the keys' history. Returns what was erased, and a sentence
 * where the write-ahead log still holds some of it. Throws `not_found`.
 */
export function eraseProfile(
  deps: Pick<Deps, 'db' | 'clock'>,
  username: string,
  by: Actor,
): ProfileRef & { warning: string | null } {
  const erased = write(deps.db, (tx) => {
    const profile = findProfile(tx, username);
    const nowMs = deps.clock.nowMs();
    eraseById(tx, profile.id, by, nowMs);
    noteErasure(deps.db.$client, nowMs);
    noteChanges(deps.db.$client, null);
    return profile;
  });
  return { ...erased, warning: emptyLog(deps.db) };
}

/**
 * Erases a profile by its id, inside a transaction. The caller notes it there, once, by `noteErasure` and `noteChanges`.
 * Returns whether there was such a profile.
 */
export function eraseById(tx: Tx, id: number, by: Actor, nowMs: number): boolean {
  eraseKeysOfProfile(tx, id, by, nowMs);
  return tx.delete(profiles).where(eq(profiles.id, id)).returning({ id: profiles.id }).all().length > 0;
}

/** The profile with this username or alias, compared in folded form. Throws `not_found`. */
export function findProfile(db: Db | Tx, username: string): ProfileRef {
  const folded = checkedFold(username);
  const found =
    folded === null
      ? undefined
      : db
          .select({ id: profiles.id, username: profiles.username })
          .from(profileNames)
          .innerJoin(profiles, eq(profiles.id, profileNames.profileId))
          .where(eq(profileNames.folded, folded))
          .get();
  if (found === undefined) throw new AppError('not_found', 'There is no profile with this username or alias.');
  return found;
}
