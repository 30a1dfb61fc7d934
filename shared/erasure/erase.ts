import { and, eq } from 'drizzle-orm';
import type { Actor } from '../actor.ts';
import type { Tx } from '../db/connect.ts';
import { noteErasedProfile, noteErasure } from '../db/facts.ts';
import { apiKeys, events, keyAttempts } from '../db/schema.ts';
import { write } from '../db/write.ts';
import type { Deps } from '../deps.ts';
import { type Act, addEvent } from '../events.ts';
import { ENDS } from '../keys/key.ts';
import { addKeyEvent, moveKey } from '../keys/record.ts';
import { readProfile, refuseUnlikeProfile } from '../profiles/find.ts';

/**
 * Erases a profile permanently: deletes its row, names and links, and ends and clears its keys, whose history names
 * `by`. Returns what was erased. Throws `not_found`, and `changed_since` if it is no longer the version that `by` was shown.
 */
export function eraseProfile(
  deps: Pick<Deps, 'db' | 'clock'>,
  id: number,
  by: Actor,
): { id: number; username: string } {
  return write(deps.db, (tx) => {
    refuseUnlikeProfile(tx, id, by);
    const { username } = readProfile(tx, id);
    const nowMs = deps.clock.nowMs();
    eraseById(tx, id, by, nowMs);
    noteErasedProfile(deps.db.$client, id, { atMs: nowMs, nowMs });
    noteErasure(deps.db.$client);
    addEvent(tx, { by, atMs: nowMs }, { subject: 'profile', event: 'erased' });
    return { id, username };
  });
}

/**
 * Erases the profiles with these UIDs in one transaction, and records each as erased at its `atMs`, a time in the past,
 * even if there is no such profile.
 */
export function eraseProfiles(
  { db, clock }: Pick<Deps, 'db' | 'clock'>,
  erasures: readonly { uid: number; atMs: number }[],
  by: Actor,
): void {
  write(db, (tx) => {
    const nowMs = clock.nowMs();
    let count = 0;
    for (const { uid, atMs } of erasures) {
      if (eraseById(tx, uid, by, nowMs)) count++;
      noteErasedProfile(db.$client, uid, { atMs, nowMs });
    }
    noteErasure(db.$client);
    if (count > 0) addErasures(tx, count, { by, atMs: nowMs });
  });
}

/** Adds the entry of the log for the profiles that a transaction erased. */
export function addErasures(tx: Tx, count: number, act: Act): void {
  addEvent(tx, act, { subject: 'profile', event: 'erased', ...(count > 1 && { data: { count } }) });
}

/**
 * Erases a profile by its id, inside a transaction in which the caller has to call `noteErasedProfile` for it, and once
 * `noteErasure`. Returns false if no profile has this id.
 */
export function eraseById(tx: Tx, id: number, by: Actor, nowMs: number): boolean {
  eraseKeysOfProfile(tx, id, by, nowMs);
  // With what hangs on the row, `changes` counts more.
  return tx.$client.query('DELETE FROM profiles WHERE id = ? RETURNING id').get(id) !== null;
}

/**
 * Ends and clears the keys of a profile, inside the transaction that is about to delete the profile: pending keys are
 * withdrawn, Active and suspended ones revoked; all texts and addresses are deleted, and an `erased`
 * event is added. Identifiers, times and states stay.
 */
function eraseKeysOfProfile(tx: Tx, profileId: number, by: Actor, nowMs: number): void {
  const act = { by, atMs: nowMs };
  for (const key of tx.select().from(apiKeys).where(eq(apiKeys.profileId, profileId)).all()) {
    const end = ENDS[key.state];
    // An expired key too, since its row is still Active or suspended.
    if (end !== null) moveKey(tx, { ...key, expiresAt: null }, end, act);
    tx.update(apiKeys)
      .set({
        profileId: null,
        name: '',
        description: '',
        projectUrl: null,
        expectedUsage: null,
        searched: key.identifier.toLowerCase(),
        searchedAddress: null,
      })
      .where(eq(apiKeys.identifier, key.identifier))
      .run();
    tx.update(keyAttempts).set({ address: null }).where(eq(keyAttempts.identifier, key.identifier)).run();
    tx.update(events)
      .set({ data: null })
      .where(and(eq(events.about, key.identifier), eq(events.subject, 'key')))
      .run();
    addKeyEvent(tx, { ...key, profileId: null }, act, 'erased');
  }
}
