import type { Db } from '../db/connect.ts';
import { guardDatabase } from '../db/faults.ts';
import { findProfile } from './find.ts';
import { createProfileReader, lineOf, readAll } from './record.ts';

const CHUNK_CHARACTERS = 65_536;

/**
 * Writes every profile as JSON Lines (docs/profiles.md), ordered by id, private fields too. `write` gets text of
 * whole lines and is waited for. Everything comes from one snapshot, however long the reader takes; at most a chunk and
 * a profile are in memory. The connection is busy with it until the end. `onProgress` hears how many lines of how many
 * are written. Throws what `write` throws.
 */
export async function exportProfiles(
  db: Db,
  write: (chunk: string) => void | Promise<void>,
  onProgress: (lines: number, total: number) => void = () => {},
): Promise<void> {
  const path = db.$client.filename;
  const lines = linesOf(db);
  guardDatabase(path, () => db.$client.run('BEGIN'));
  try {
    const { total } = guardDatabase(path, () => db.$client.query('SELECT count(*) AS total FROM profiles').get()) as {
      total: number;
    };
    // Joined once: a text that grows line by line is copied in pieces.
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
    db.$client.run('ROLLBACK');
  }
}

/** One profile by its username or an alias, as the text of an export line. Throws `not_found`. */
export function exportProfile(db: Db, username: string): string {
  return guardDatabase(db.$client.filename, () =>
    db.transaction((tx) => {
      const { id } = findProfile(tx, username);
      return createProfileReader(db.$client).line(id);
    }),
  );
}

function* linesOf({ $client }: Db): Generator<string> {
  for (const profile of readAll($client)) yield lineOf(profile);
}
