import type { Actor } from './actor.ts';
import type { Tx } from './db/connect.ts';
import { type EventData, type EventName, events, type Subject } from './db/schema.ts';

/** Who acts, and when. */
export type Act = { by: Actor; atMs: number };

/** An entry; `about` is the identifier of a key or token, or an admin's name. */
type NewEvent = {
  [About in Subject]: {
    subject: About;
    event: EventName<About>;
    about?: string;
    profileId?: number | null;
    data?: EventData | undefined;
  };
}[Subject];

/** Adds an entry to the history, inside the transaction that it describes. Returns its id. */
export function addEvent(tx: Tx, { by, atMs }: Act, event: NewEvent): number {
  return tx
    .insert(events)
    .values({ ...event, at: atMs, by: by.name, byKind: by.kind })
    .returning({ id: events.id })
    .get().id;
}
