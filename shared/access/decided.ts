import { actorText, type StoredActor } from '../actor.ts';
import type { Db } from '../db/connect.ts';
import { guardDatabase } from '../db/faults.ts';
import type { KeyEventDetail } from '../db/schema/keys.ts';
import type { PeopleEventDetail } from '../db/schema/people.ts';

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
type Row = Pick<Decided, 'atMs' | 'kind' | 'name' | 'event'> & {
  id: number;
  by: string;
  byKind: StoredActor['kind'];
  detail: string | null;
};

const OF_KEYS = `SELECT id, at AS atMs, by, by_kind AS byKind, 'key' AS kind, identifier AS name, event, detail
  FROM key_events WHERE event IN ('approved', 'rejected', 'changed', 'suspended', 'resumed', 'revoked')`;

const OF_PEOPLE =
  'SELECT id, at AS atMs, by, by_kind AS byKind, kind, name, event, detail FROM people_events WHERE TRUE';

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
export function listDecided({ $client: sqlite }: Db, limit: number, before: string | null = null): Decided[] {
  const [, key = Number.MAX_SAFE_INTEGER, person = Number.MAX_SAFE_INTEGER] = CURSOR.exec(before ?? '') ?? [];
  const newest = (source: string, id: number | string) =>
    guardDatabase(sqlite.filename, () =>
      sqlite.query<Row, [number, number]>(`${source} AND id < ? ORDER BY id DESC LIMIT ?`).all(Number(id), limit),
    );
  const keys = newest(OF_KEYS, key);
  const people = newest(OF_PEOPLE, person);
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

function decidedOf({ id: _id, by, byKind, detail, ...entry }: Row, cursor: string): Decided {
  return {
    ...entry,
    by: actorText({ kind: byKind, name: by }, 'admin'),
    detail: detail === null ? null : JSON.parse(detail),
    cursor,
  };
}
