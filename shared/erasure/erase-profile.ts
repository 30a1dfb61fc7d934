import type { Actor } from '../actor.ts';
import type { Tx } from '../db/connect.ts';
import { noteErasedProfile, noteErasure } from '../db/facts.ts';
import { write } from '../db/write.ts';
import type { Deps } from '../deps.ts';
import { type Act, addEvent } from '../events.ts';
import { noteAddressChange, noteBan } from '../keys/life.ts';
import type { MailConfig } from '../mail/outbox.ts';
import type { EffectsOnKeys } from '../profiles/apply.ts';
import { readProfile } from '../profiles/find.ts';
import { refuseUnlikeProfile } from '../profiles/profile-version.ts';
import { eraseKeysOfProfile } from './erase-keys.ts';

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

function addErasures(tx: Tx, count: number, act: Act): void {
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
 * The effects of imports and commands on keys and on the log when they erase or ban a profile or change its e-mail
 * address. The log names `by`.
 */
export function effectsOnKeys(by: Actor, config: MailConfig): EffectsOnKeys {
  return {
    erase: (tx, id, nowMs) => eraseById(tx, id, by, nowMs),
    readdress: (tx, change, nowMs) => noteAddressChange(tx, config, change, { by, atMs: nowMs }),
    erased: (tx, count, nowMs) => addErasures(tx, count, { by, atMs: nowMs }),
    ban: (tx, { profileId, isBanned }, nowMs) => {
      noteBan(tx, { profileId, isBanned }, { by, atMs: nowMs });
      addEvent(tx, { by, atMs: nowMs }, { subject: 'profile', event: isBanned ? 'banned' : 'unbanned', profileId });
    },
  };
}
