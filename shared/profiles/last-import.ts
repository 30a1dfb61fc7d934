import type { Actor, StoredActor } from '../actor.ts';
import type { Db, Sqlite } from '../db/connect.ts';
import { write } from '../db/write.ts';

/** The last import that came to its end and changed something. */
export type LastImport = {
  /** When it ended, milliseconds since 1970. */
  atMs: number;
  by: StoredActor;
  /** How many lines it read, and how many of them it refused; blank ones do not count. */
  lines: number;
  refused: number;
};

/** What a platform sends counts apart from all other imports. */
export type ImportKind = 'import' | 'feed';

const TABLES = { import: 'last_import', feed: 'last_feed' } as const satisfies Record<ImportKind, string>;

/** Stores it in place of the one of its kind before. Throws what `write` throws. */
export function storeLastImport(db: Db, { atMs, by, lines, refused }: Omit<LastImport, 'by'> & { by: Actor }): void {
  const table = TABLES[by.kind === 'platform' ? 'feed' : 'import'];
  write(db, () =>
    db.$client
      .query(`REPLACE INTO ${table} (id, at, by, by_kind, lines, refused) VALUES (1, ?, ?, ?, ?, ?)`)
      .run(atMs, by.name, by.kind, lines, refused),
  );
}

/** Reads the last one of a kind; null where there was none. Throws SQLite's errors. */
export function readLastImport(sqlite: Sqlite, kind: ImportKind): LastImport | null {
  const row = sqlite.query(`SELECT at, by, by_kind AS kind, lines, refused FROM ${TABLES[kind]}`).get() as {
    at: number;
    by: string;
    kind: StoredActor['kind'];
    lines: number;
    refused: number;
  } | null;
  if (row === null) return null;
  const { at, by, kind: byKind, lines, refused } = row;
  return { atMs: at, by: { kind: byKind, name: by }, lines, refused };
}
