import { and, eq, inArray, sql } from 'drizzle-orm';
import type { Db, Tx } from '../../db/connect.ts';
import type { KeyEventName, KeyState } from '../../db/key-columns.ts';
import { keepQuery } from '../../db/prepared-query.ts';
import { apiKeys, keyEvents } from '../../db/schema/keys.ts';
import { addAddressNotice, addBanNotice } from '../../outbox/notice.ts';
import { SLOT_HOLDERS, stateAt } from '../key.ts';
import { type Act, type ApiKey, addEvent, approvable, closeAttempts } from '../record.ts';

// What follows for keys where a profile changes, inside the transaction that changes it. An import may change very many
// profiles while it holds the write lock, so what each of them needs is asked for with kept queries.

/** A change of a profile's address: which profile (its id), and the address that it had. */
export type AddressChange = { profileId: number; formerEmail: string };

/** The beginning or the end of a profile's ban: which profile (its id), and whether it is banned from now on. */
export type BanChange = { profileId: number; isBanned: boolean };

/**
 * What follows where a profile gets another address, or loses its own: an attempt to approve one of its keys is void, since
 * its mail goes to the former address; its pending requests say in their history that the address was changed; and the former
 * address is to be told.
 */
export function noteAddressChange(tx: Tx, change: AddressChange, act: Act): void {
  noteOnKeys(tx, { profileId: change.profileId, states: ['pending'], event: 'address changed' }, act);
  addAddressNotice(tx, { ...change, atMs: act.atMs });
}

/**
 * What follows where a profile is banned, or its ban is lifted. Its keys keep their state: whether they are refused is read
 * from the profile. An attempt to approve one of them is void, because a banned profile gets no key; the history of each key
 * that is pending, Active or suspended says so; and the owner of an Active one is to be told.
 */
export function noteBan(tx: Tx, { profileId, isBanned }: BanChange, act: Act): void {
  const event = isBanned ? 'profile banned' : 'profile unbanned';
  const noted = noteOnKeys(tx, { profileId, states: SLOT_HOLDERS, event }, act);
  const keys = noted.filter(({ state }) => state === 'Active').map(({ identifier }) => identifier);
  if (keys.length > 0) addBanNotice(tx, { profileId, about: { isBanned, keys }, atMs: act.atMs });
}

/** Adds an event to the histories of a profile's keys in these states, and voids their open attempts. Returns the keys. */
function noteOnKeys(
  tx: Tx,
  { profileId, states, event }: { profileId: number; states: readonly KeyState[]; event: KeyEventName },
  act: Act,
): ApiKey[] {
  const keys = slotHoldersOf(tx)
    .all({ profileId })
    .filter((key) => states.includes(key.state) && stateAt(key, act.atMs) === key.state);
  for (const key of keys) noteOnKey(tx, key, event, act);
  return keys;
}

const slotHoldersOf = keepQuery((db) =>
  db
    .select()
    .from(apiKeys)
    .where(and(eq(apiKeys.profileId, sql.placeholder('profileId')), inArray(apiKeys.state, SLOT_HOLDERS)))
    .prepare(),
);

function noteOnKey(tx: Tx, key: ApiKey, event: KeyEventName, act: Act): void {
  const { open } = approvable(tx, key);
  const detail = open === null ? {} : { detail: { attempt: open.number } };
  if (open !== null) {
    const attemptNumber = key.attemptNumber + 1;
    tx.update(apiKeys).set({ attemptNumber }).where(eq(apiKeys.identifier, key.identifier)).run();
    closeAttempts(tx, key.identifier, 'voided');
  }
  addEvent(tx, key, act, { event, fromState: key.state, toState: key.state, ...detail });
}

/** The changes of a profile that make an attempt to approve one of its keys void. */
const VOIDING = ['address changed', 'profile banned'] as const;

/** What happened to the profile that made an attempt to approve its key void; null where it was nothing of that. */
export function voidingChange(db: Db, identifier: string, attempt: number): (typeof VOIDING)[number] | null {
  const events = db
    .select({ event: keyEvents.event, detail: keyEvents.detail })
    .from(keyEvents)
    .where(and(eq(keyEvents.identifier, identifier), inArray(keyEvents.event, [...VOIDING])))
    .all();
  const found = events.find(({ detail }) => detail?.attempt === attempt)?.event;
  return VOIDING.find((event) => event === found) ?? null;
}
