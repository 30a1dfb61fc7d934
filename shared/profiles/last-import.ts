import type { Actor, StoredActor } from '../actor.ts';
import type { Db, Opened } from '../db/connect.ts';
import { lastFeed, lastImport } from '../db/schema/profiles.ts';
import { withTables } from '../db/tables.ts';
import { write } from '../db/write.ts';

/** The last import that ended and changed something. */
export type LastImport = {
  /** When it ended, in milliseconds since 1970. */
  atMs: number;
  by: StoredActor;
  /** The number of lines read, and of those refused; blank lines do not count. */
  lines: number;
  refused: number;
};

/** `feed` is an import by a backend; these are stored separately. */
export type ImportKind = 'import' | 'feed';

const TABLES = { import: lastImport, feed: lastFeed } as const satisfies Record<ImportKind, unknown>;

/** Replaces the stored last import of the same kind. */
export function storeLastImport(db: Db, { atMs, by, lines, refused }: Omit<LastImport, 'by'> & { by: Actor }): void {
  const table = TABLES[by.kind === 'backend' ? 'feed' : 'import'];
  const row = { id: 1, at: atMs, by: by.name, byKind: by.kind, lines, refused };
  write(db, (tx) => tx.insert(table).values(row).onConflictDoUpdate({ target: table.id, set: row }).run());
}

/** Reads the last import of a kind; null if there was none. */
export function readLastImport(db: Opened, kind: ImportKind): LastImport | null {
  const row = withTables(db).select().from(TABLES[kind]).get();
  if (row === undefined) return null;
  const { at, by, byKind, lines, refused } = row;
  return { atMs: at, by: { kind: byKind, name: by }, lines, refused };
}
