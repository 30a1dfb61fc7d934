import type { Actor } from '../actor.ts';
import type { Sqlite, Tx } from '../db/connect.ts';
import type { ServiceEventName } from '../db/people-columns.ts';
import { serviceEvents } from '../db/schema/service-events.ts';
import { withTables } from '../db/tables.ts';
import { write } from '../db/write.ts';

/** A change to profiles or to the database. `count` is the number of erased profiles, 1 if absent. */
export type ServiceEvent = {
  atMs: number;
  by: Actor;
  event: ServiceEventName;
  profileId?: number;
  count?: number;
};

/** Adds an entry to the log, inside the transaction that it describes. */
export function addServiceEvent(tx: Tx, { atMs, by, event, profileId, count }: ServiceEvent): void {
  tx.insert(serviceEvents)
    .values({ at: atMs, by: by.name, byKind: by.kind, event, profileId: profileId ?? null, count: count ?? 1 })
    .run();
}

/** Adds a restore to the log in the copy of a backup. */
export function logRestore(copy: Sqlite, { by, atMs }: Pick<ServiceEvent, 'by' | 'atMs'>): void {
  write(withTables({ $client: copy }), (tx) => addServiceEvent(tx, { atMs, by, event: 'restored' }));
}
