import { and, desc, inArray, lt } from 'drizzle-orm';
import { actorText, type StoredActor } from '../actor.ts';
import type { Db } from '../db/connect.ts';
import { guardDatabase } from '../db/faults.ts';
import { type KeyEventDetail, keyEvents } from '../db/schema/keys.ts';
import { type PeopleEventDetail, peopleEvents } from '../db/schema/people.ts';

/** Something that was decided: about a key, which is named by its identifier, or about an admin or a platform. */
export type Decided = {
  /** Milliseconds since 1970. */
  atMs: number;
  by: string;
  kind: 'key' | 'admin' | 'platform';
  /** The identifier of the key, or the name of the admin or platform. */
  name: string;
  event: string;
  detail: (KeyEventDetail & PeopleEventDetail) | null;
  /** Names this place in the log, for {@link listDecided}'s `before`: what follows there was decided before this entry. */
  cursor: string;
};

/** An entry as it is stored; its id counts up in the order in which entries are stored. */
type Row = Omit<Decided, 'by' | 'cursor'> & { id: number; by: string; byKind: StoredActor['kind'] };

/** The entries of a key's history that are decisions of somebody who may decide. */
const DECISIONS = ['approved', 'rejected', 'changed', 'suspended', 'resumed', 'revoked'] as const;

/** The last entry of keys and the last one of people that came before, by their ids. */
const CURSOR = /^(\d{1,16})-(\d{1,16})$/;

/** Whether a text can be the cursor of an entry. */
export function isCursor(text: string): boolean {
  return CURSOR.test(text);
}

/**
 * Everything that was decided about keys, admins and platforms, newest first: at most so many entries, those that follow the
 * cursor `before` where one is given. Each of the two histories is read backwards from a place in it, as far as needed, so
 * that a page costs the same however long they are. Throws `busy`.
 */
export function listDecided(db: Db, limit: number, before: string | null = null): Decided[] {
  const [, key = Number.MAX_SAFE_INTEGER, person = Number.MAX_SAFE_INTEGER] = CURSOR.exec(before ?? '') ?? [];
  const [keys, people] = guardDatabase(db.$client.filename, () => [
    decidedOfKeys(db, Number(key), limit),
    decidedOfPeople(db, Number(person), limit),
  ]);
  const last = { key: Number(key), person: Number(person) };
  const decided: Decided[] = [];
  while (decided.length < limit) {
    const isKeys = people[0] === undefined || (keys[0] !== undefined && keys[0].atMs > people[0].atMs);
    const row = (isKeys ? keys : people).shift();
    if (row === undefined) break;
    last[isKeys ? 'key' : 'person'] = row.id;
    decided.push(decidedOf(row, `${last.key}-${last.person}`));
  }
  return decided;
}

/** The newest decisions on keys before an id. */
function decidedOfKeys(db: Db, before: number, limit: number): Row[] {
  return db
    .select()
    .from(keyEvents)
    .where(and(inArray(keyEvents.event, DECISIONS), lt(keyEvents.id, before)))
    .orderBy(desc(keyEvents.id))
    .limit(limit)
    .all()
    .map(({ at, identifier, ...row }) => ({ ...row, atMs: at, kind: 'key', name: identifier }));
}

/** The newest entries about people before an id. */
function decidedOfPeople(db: Db, before: number, limit: number): Row[] {
  return db
    .select()
    .from(peopleEvents)
    .where(lt(peopleEvents.id, before))
    .orderBy(desc(peopleEvents.id))
    .limit(limit)
    .all()
    .map(({ at, ...row }) => ({ ...row, atMs: at }));
}

function decidedOf({ atMs, by, byKind, kind, name, event, detail }: Row, cursor: string): Decided {
  return { atMs, by: actorText({ kind: byKind, name: by }, 'admin'), kind, name, event, detail, cursor };
}
