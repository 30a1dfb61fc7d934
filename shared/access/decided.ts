import { actorText, type StoredActor } from '../actor.ts';
import type { Db } from '../db/connect.ts';
import { guardDatabase } from '../db/faults.ts';
import type { KeyEventDetail, PeopleEventDetail } from '../db/schema.ts';

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
  /** Names this entry: what was decided before it follows {@link listDecided}'s `before`. */
  cursor: string;
};

type Row = Pick<Decided, 'atMs' | 'kind' | 'name' | 'event'> & {
  source: string;
  id: number;
  by: string;
  byKind: StoredActor['kind'];
  detail: string | null;
};

const CURSOR = /^(\d{1,15})-(keys|people)-(\d{1,15})$/;

/** Whether a text can be the cursor of an entry. */
export function isCursor(text: string): boolean {
  return CURSOR.test(text);
}

/**
 * Everything that was decided about keys, admins and platforms, newest first: at most so many entries, those before the
 * one with the cursor `before` where one is given. Throws `busy`.
 */
export function listDecided({ $client: sqlite }: Db, limit: number, before: string | null = null): Decided[] {
  const [, at, source, id] = CURSOR.exec(before ?? '') ?? [];
  const last = at === undefined ? [Number.MAX_SAFE_INTEGER, '', 0] : [Number(at), source as string, Number(id)];
  const rows = guardDatabase(sqlite.filename, () =>
    sqlite
      .query<Row, (string | number)[]>(
        `SELECT * FROM (
           SELECT at AS atMs, 'keys' AS source, id, by, by_kind AS byKind, 'key' AS kind, identifier AS name, event, detail
             FROM key_events WHERE event IN ('approved', 'rejected', 'changed', 'revoked')
           UNION ALL
           SELECT at, 'people', id, by, by_kind, kind, name, event, detail FROM people_events
         ) WHERE (atMs, source, id) < (?, ?, ?) ORDER BY atMs DESC, source DESC, id DESC LIMIT ?`,
      )
      .all(...last, limit),
  );
  return rows.map(({ source: from, id: number, by, byKind, detail, ...entry }) => ({
    ...entry,
    by: actorText({ kind: byKind, name: by }, 'admin'),
    detail: detail === null ? null : JSON.parse(detail),
    cursor: `${entry.atMs}-${from}-${number}`,
  }));
}
