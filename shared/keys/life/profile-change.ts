import { and, eq, inArray, sql } from 'drizzle-orm';
import type { Tx } from '../../db/connect.ts';
import type { KeyEventName } from '../../db/event-columns.ts';
import type { StoredState } from '../../db/key-columns.ts';
import { keepQuery } from '../../db/prepared-query.ts';
import { apiKeys } from '../../db/schema/keys.ts';
import type { Act } from '../../events.ts';
import { type MailConfig, mailFormerAddress } from '../../mail/outbox.ts';
import { SLOT_HOLDERS, stateAt } from '../key.ts';
import { type ApiKey, addKeyEvent, approvable, closeAttempts } from '../record.ts';

// The effects of a change of a profile on its keys, in the same transaction. An import may change very many profiles while it
// holds the write lock, so the queries are prepared once.

/**
 * Handles a change or removal of a profile's e-mail address: voids open attempts to approve its keys, since their mails go to
 * the former address, adds an event to its pending requests, and notifies the former address.
 */
export function noteAddressChange(
  tx: Tx,
  config: MailConfig,
  change: { profileId: number; formerEmail: string },
  act: Act,
): void {
  noteOnKeys(tx, { profileId: change.profileId, states: ['pending'], event: 'address changed' }, act);
  mailFormerAddress(tx, config, change, act);
}

/**
 * Handles a ban or its end: voids open attempts to approve the profile's keys, and adds an event to each pending, Active or
 * suspended key. Keys keep their state; the ban is read from the profile.
 */
export function noteBan(tx: Tx, { profileId, isBanned }: { profileId: number; isBanned: boolean }, act: Act): void {
  const event = isBanned ? 'profile banned' : 'profile unbanned';
  noteOnKeys(tx, { profileId, states: SLOT_HOLDERS, event }, act);
}

function noteOnKeys(
  tx: Tx,
  { profileId, states, event }: { profileId: number; states: readonly StoredState[]; event: KeyEventName },
  act: Act,
): void {
  const keys = slotHoldersOf(tx)
    .all({ profileId })
    .filter((key) => states.includes(key.state) && stateAt(key, act.atMs) === key.state);
  for (const key of keys) noteOnKey(tx, key, event, act);
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
  if (open !== null) {
    const attemptNumber = key.attemptNumber + 1;
    tx.update(apiKeys).set({ attemptNumber }).where(eq(apiKeys.identifier, key.identifier)).run();
    closeAttempts(tx, key.identifier, 'voided');
  }
  addKeyEvent(tx, key, act, event, open === null ? undefined : { attempt: open.number });
}
