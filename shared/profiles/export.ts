import { beginSnapshot, type Db } from '../db/connect.ts';
import { AppError } from '../errors.ts';
import type { Profile } from './fields.ts';
import { findProfile } from './find.ts';
import { profileOf, ROW_COLUMNS, type Row, textOf } from './record.ts';

const CHUNK_CHARACTERS = 65_536;

/** A row with the profile's aliases as a JSON list; a subquery is as fast as reading the names in step. */
type ExportRow = Row & { aliases: string };

const EXPORT = `SELECT ${ROW_COLUMNS}, (SELECT json_group_array(name) FROM
  (SELECT name FROM profile_names WHERE profile_id = profiles.id AND position > 0 ORDER BY position)) AS aliases
  FROM profiles`;

/**
 * Writes all profiles as JSON Lines (docs/profiles.md), ordered by id, including private fields. `write` receives texts
 * of whole lines and is awaited each time. All lines come from one snapshot of the database, however long it takes, and
 * the connection can't be used for anything else until then. At most one chunk and one profile are in memory.
 * Throws the errors of `write`.
 */
export async function exportProfiles(db: Db, write: (chunk: string) => void | Promise<void>): Promise<void> {
  const sqlite = db.$client;
  using _ = beginSnapshot(sqlite);
  // The lines are joined at the end, because a string that is extended line by line is copied again and again.
  let chunk: string[] = [];
  let characters = 0;
  const flush = async () => {
    if (chunk.length > 0) await write(`${chunk.join('\n')}\n`);
    chunk = [];
    characters = 0;
  };
  for (const row of sqlite.query<ExportRow, []>(`${EXPORT} ORDER BY id`).iterate()) {
    const line = textOf(whole(row));
    chunk.push(line);
    characters += line.length;
    if (characters >= CHUNK_CHARACTERS) await flush();
  }
  await flush();
}

/** The profile with this username or alias, or with this UID, with its private fields. Throws `not_found`. */
export function exportProfile(db: Db, wanted: { username: string } | { uid: number }): Profile {
  return db.transaction(() => {
    const id = 'username' in wanted ? findProfile(db, wanted.username).id : wanted.uid;
    const row = db.$client.query<ExportRow, [number]>(`${EXPORT} WHERE id = ?`).get(id);
    if (row === null) throw new AppError('not_found', 'There is no profile with this UID.');
    return whole(row);
  });
}

function whole(row: ExportRow): Profile {
  return profileOf(row, JSON.parse(row.aliases) as string[]);
}
