import { desc, lt } from 'drizzle-orm';
import { type Actor, actorText } from '../actor.ts';
import { isoTime } from '../clock.ts';
import type { Db, Tx } from '../db/connect.ts';
import type { PeopleEventName } from '../db/people-columns.ts';
import { type PeopleEventDetail, peopleEvents } from '../db/schema/people.ts';

/** Something that was decided about an admin or a platform, by its name. */
export type PeopleEvent = {
  atMs: number;
  by: Actor;
  event: PeopleEventName;
  kind: 'admin' | 'platform';
  name: string;
  detail?: PeopleEventDetail;
};

/** An entry of the log as operators and admins see it; the time is ISO 8601 in UTC. */
export type PeopleEventView = {
  id: number;
  at: string;
  by: string;
  event: PeopleEventName;
  kind: 'admin' | 'platform';
  name: string;
  detail: PeopleEventDetail | null;
};

/** Adds an entry to the log, inside the transaction that it tells of. */
export function addPeopleEvent(tx: Tx, { atMs, by, detail, ...event }: PeopleEvent): void {
  tx.insert(peopleEvents)
    .values({ ...event, at: atMs, by: by.name, byKind: by.kind, detail: detail ?? null })
    .run();
}

/** The log, newest first: at most so many entries, those before the entry with the id `before` where one is given. */
export function listPeopleEvents(db: Db, limit: number, before: number | null = null): PeopleEventView[] {
  return db
    .select()
    .from(peopleEvents)
    .where(before === null ? undefined : lt(peopleEvents.id, before))
    .orderBy(desc(peopleEvents.id))
    .limit(limit)
    .all()
    .map(({ at, by, byKind, ...entry }) => ({
      ...entry,
      at: isoTime(at),
      by: actorText({ kind: byKind, name: by }, 'admin'),
    }));
}
