import { and, eq } from 'drizzle-orm';
import type { Db, Sqlite, Tx } from '../db/connect.ts';
import { apiKeys, keyEvents } from '../db/schema/keys.ts';
import { addAddressNotice } from './notice.ts';
import { type Act, type ApiKey, addEvent, approvable, closeAttempts } from './record.ts';

/** A change of a profile's address: which profile (its id), and the address that it had. */
export type AddressChange = { profileId: number; formerEmail: string };

/**
 * What follows where a profile gets another address, or loses its own, inside the transaction that changes it: an attempt
 * to approve one of its keys is void, since its mail goes to the former address; its pending requests say in their history
 * that the address was changed; and the former address is to be told. An import may change very many addresses while it
 * holds the write lock, so what each of them needs is asked for with prepared statements of `sqlite`, the connection of
 * `tx`.
 */
export function noteAddressChange(tx: Tx, sqlite: Sqlite, change: AddressChange, act: Act): void {
  const { profileId } = change;
  const hasPending = sqlite.query("SELECT 1 FROM api_keys WHERE profile_id = ? AND state = 'pending'");
  if (hasPending.get(profileId) !== null) {
    const isWanted = and(eq(apiKeys.profileId, profileId), eq(apiKeys.state, 'pending'));
    for (const key of tx.select().from(apiKeys).where(isWanted).all()) noteOnRequest(tx, key, act);
  }
  addAddressNotice(sqlite, { ...change, atMs: act.atMs });
}

function noteOnRequest(tx: Tx, key: ApiKey, act: Act): void {
  const { open } = approvable(tx, key);
  const detail = open === null ? {} : { detail: { attempt: open.number } };
  if (open !== null) {
    const attemptNumber = key.attemptNumber + 1;
    tx.update(apiKeys).set({ attemptNumber }).where(eq(apiKeys.identifier, key.identifier)).run();
    closeAttempts(tx, key.identifier, 'voided');
  }
  addEvent(tx, key, act, { event: 'address changed', fromState: 'pending', toState: 'pending', ...detail });
}

/** Whether an attempt to approve a key is void since the profile's address was changed meanwhile. */
export function isVoidedByAddress(db: Db, identifier: string, attempt: number): boolean {
  const events = db
    .select({ detail: keyEvents.detail })
    .from(keyEvents)
    .where(and(eq(keyEvents.identifier, identifier), eq(keyEvents.event, 'address changed')))
    .all();
  return events.some(({ detail }) => detail?.attempt === attempt);
}
