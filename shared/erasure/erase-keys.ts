import { and, eq } from 'drizzle-orm';
import type { Actor } from '../actor.ts';
import type { Tx } from '../db/connect.ts';
import { events } from '../db/schema/events.ts';
import { apiKeys, keyAttempts } from '../db/schema/keys.ts';
import { hasSecret } from '../keys/key.ts';
import { addKeyEvent, moveKey } from '../keys/record.ts';

/**
 * Ends and clears the keys of a profile, inside the transaction that is about to delete the profile: pending keys are
 * withdrawn, Active and suspended ones revoked; all texts and addresses are deleted, and an `erased`
 * event is added. Identifiers, times and states stay.
 */
export function eraseKeysOfProfile(tx: Tx, profileId: number, by: Actor, nowMs: number): void {
  const act = { by, atMs: nowMs };
  for (const key of tx.select().from(apiKeys).where(eq(apiKeys.profileId, profileId)).all()) {
    if (key.state === 'pending') moveKey(tx, key, 'withdraw', act);
    // An expired key too, since its row is still Active or suspended.
    if (hasSecret(key.state)) moveKey(tx, { ...key, expiresAt: null }, 'revoke', act);
    tx.update(apiKeys)
      .set({ profileId: null, name: '', description: '', projectUrl: null, expectedUsage: null })
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
