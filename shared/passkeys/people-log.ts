import type { Actor } from '../actor.ts';
import type { Tx } from '../db/connect.ts';
import type { PeopleEventName } from '../db/people-columns.ts';
import { type PeopleEventDetail, peopleEvents } from '../db/schema/people.ts';

/** An event in the log about an admin or a backend. */
export type PeopleEvent = {
  atMs: number;
  by: Actor;
  event: PeopleEventName;
  kind: 'admin' | 'backend';
  name: string;
  detail?: PeopleEventDetail;
};

/** Adds an entry to the log, inside the transaction of the event. */
export function addPeopleEvent(tx: Tx, { atMs, by, detail, ...event }: PeopleEvent): void {
  tx.insert(peopleEvents)
    .values({ ...event, at: atMs, by: by.name, byKind: by.kind, detail: detail ?? null })
    .run();
}
