import { count } from 'drizzle-orm';
import { beginSnapshot, type Db } from '../db/connect.ts';
import { guardDatabase } from '../db/faults.ts';
import { profiles } from '../db/schema/profiles.ts';
import { AppError } from '../errors.ts';
import { findProfile } from './find.ts';
import { createProfileReader, lineOf, readAll } from './record.ts';

const CHUNK_CHARACTERS = 65_536;

/**
 * Writes all profiles as JSON Lines (docs/profiles.md), ordered by id, including private fields. `write` receives texts
 * of whole lines and is awaited each time. All lines come from one snapshot of the database, however long it takes, and
 * the connection can't be used for anything else until then. At most one chunk and one profile are in memory.
 * `onProgress` receives the number of lines written so far and in total. Throws the errors of `write`.
 */
export async function exportProfiles(
  db: Db,
  write: (chunk: string) => void | Promise<void>,
  onProgress: (lines: number, total: number) => void = () => {},
): Promise<void> {
  const path = db.$client.filename;
  const lines = linesOf(db);
  using _ = guardDatabase(path, () => beginSnapshot(db.$client));
  try {
    const total = guardDatabase(path, () => db.select({ count: count() }).from(profiles).get())?.count ?? 0;
    // The lines are joined at the end, because a string that is extended line by line is copied again and again.
    let chunk: string[] = [];
    let characters = 0;
    let written = 0;
    const flush = async () => {
      await write(`${chunk.join('\n')}\n`);
      onProgress(written, total);
      chunk = [];
      characters = 0;
    };
    for (
      let next = guardDatabase(path, () => lines.next());
      !next.done;
      next = guardDatabase(path, () => lines.next())
    ) {
      chunk.push(next.value);
      characters += next.value.length;
      written++;
      if (characters >= CHUNK_CHARACTERS) await flush();
    }
    if (chunk.length > 0) await flush();
  } finally {
    lines.return(undefined);
  }
}

/** Returns the export line of the profile with this username or alias, or with this UID. Throws `not_found`. */
export function exportProfile(db: Db, wanted: { username: string } | { uid: number }): string {
  return guardDatabase(db.$client.filename, () =>
    db.transaction(() => {
      const reader = createProfileReader(db.$client);
      if ('username' in wanted) return reader.line(findProfile(db, wanted.username).id);
      if (reader.row(wanted.uid) === null) throw new AppError('not_found', 'There is no profile with this UID.');
      return reader.line(wanted.uid);
    }),
  );
}

function* linesOf({ $client }: Db): Generator<string> {
  for (const profile of readAll($client)) yield lineOf(profile);
}
