import { and, eq } from 'drizzle-orm';
import type { Actor } from './actor.ts';
import { DAY_MS } from './clock.ts';
import type { Sqlite, Tx } from './db/connect.ts';
import { storeFact } from './db/facts.ts';
import { apiKeys, events, keyAttempts } from './db/schema.ts';
import { write } from './db/write.ts';
import type { Deps } from './deps.ts';
import { type Act, addEvent } from './events.ts';
import { endOf } from './keys/key.ts';
import { addKeyEvent, moveKey } from './keys/record.ts';
import { readProfile, refuseUnlikeProfile } from './profiles/find.ts';

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
    keepErasedId(tx.$client, id, { atMs: nowMs, nowMs });
    completeErasures(tx, 1, { by, atMs: nowMs });
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
      keepErasedId(tx.$client, uid, { atMs, nowMs });
    }
    completeErasures(tx, count, { by, atMs: nowMs });
  });
}

/**
 * Completes a transaction that erased so many profiles: adds the entry of the log, and records that a VACUUM is wanted. SQLite
 * overwrites deleted rows (secure_delete), but when it moved rows between pages earlier, it may have left copies in unused parts
 * of other pages, and only a VACUUM writes a file without them.
 */
export function completeErasures(tx: Tx, count: number, act: Act): void {
  if (count === 0) return;
  // Another value each time, so that a VACUUM that runs meanwhile does not count for this erasure.
  storeFact(tx.$client, 'vacuum wanted', crypto.randomUUID());
  addEvent(tx, act, { subject: 'profile', event: 'erased', ...(count > 1 && { data: { count } }) });
}

/**
 * Erases a profile by its id, inside a transaction in which the caller has to call {@link keepErasedId} for it, and once
 * {@link completeErasures}. What hangs on the row goes with it, by the foreign keys of `drizzle/0001.sql`: names, sign-ins,
 * tickets, mails. Returns false if no profile has this id.
 */
export function eraseById(tx: Tx, id: number, by: Actor, nowMs: number): boolean {
  eraseKeysOfProfile(tx, id, by, nowMs);
  // With what hangs on the row, `changes` counts more.
  return tx.$client.query('DELETE FROM profiles WHERE id = ? RETURNING id').get(id) !== null;
}

/**
 * Ends and clears the keys of a profile, inside the transaction that is about to delete the profile: pending keys are
 * withdrawn, those with a secret revoked; all texts and addresses are deleted, and an `erased` event is added. Identifiers, times
 * and states stay.
 */
function eraseKeysOfProfile(tx: Tx, profileId: number, by: Actor, nowMs: number): void {
  const act = { by, atMs: nowMs };
  for (const key of tx.select().from(apiKeys).where(eq(apiKeys.profileId, profileId)).all()) {
    const end = endOf(key.state);
    // An expired key too, whose row keeps its state.
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

// The ids of erased profiles, which are kept so that importing older data does not restore them.

/** How long the id of an erased profile is kept. An import is refused if its data was read longer ago (`readAsOf`). */
export const KEPT_AFTER_ERASURE_MS = 40 * DAY_MS;

/**
 * Records that the profile with this id was erased at `atMs`. Call inside a transaction, whose time is `nowMs`. A stored time
 * later than `nowMs` comes from a clock that was ahead, and is replaced.
 */
export function keepErasedId(sqlite: Sqlite, id: number, { atMs, nowMs }: { atMs: number; nowMs: number }): void {
  sqlite
    .query(
      `INSERT INTO erased_profiles (id, at) VALUES (?, ?)
         ON CONFLICT (id) DO UPDATE SET at = iif(at > ?, excluded.at, max(at, excluded.at))`,
    )
    .run(id, atMs, nowMs);
}

/** How many rows one transaction deletes at most, because it blocks requests that write. */
const MAX_ROWS_PER_STEP = 2_000;

/** Deletes some ids of profiles that were erased more than 40 days ago. Returns whether more may be left. */
export function dropErasedProfiles(sqlite: Sqlite, nowMs: number): boolean {
  const drop = 'DELETE FROM erased_profiles WHERE id IN (SELECT id FROM erased_profiles WHERE at < ? LIMIT ?)';
  const { changes } = sqlite.query(drop).run(nowMs - KEPT_AFTER_ERASURE_MS, MAX_ROWS_PER_STEP);
  return changes === MAX_ROWS_PER_STEP;
}
