import { eq } from 'drizzle-orm';
import type { Actor } from '../actor.ts';
import { noteChanges } from '../db/changes.ts';
import type { Tx } from '../db/connect.ts';
import { emptyLog } from '../db/empty-log.ts';
import { noteErasure } from '../db/erasures.ts';
import { profiles } from '../db/schema.ts';
import { writeProfiles } from '../db/write.ts';
import type { Deps } from '../deps.ts';
import { findProfile, type ProfileRef } from '../profiles/find.ts';
import type { EraseById } from '../profiles/write/apply.ts';
import { eraseKeysOfProfile } from './erase-keys.ts';

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
  const erased = writeProfiles(deps.db, (tx) => {
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

/** How an import erases profiles for this actor, whom the history of their keys names. */
export function eraserFor(by: Actor): EraseById {
  return (tx, id, nowMs) => eraseById(tx, id, by, nowMs);
}
