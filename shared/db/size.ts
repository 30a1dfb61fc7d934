import { statSync } from 'node:fs';

/** The bytes that a database takes on the disk: its file, and the write-ahead log that it has not taken in yet. */
export type DatabaseSize = { main: number; wal: number };

/** Looks at the files of a database; one that is not there has none. */
export function databaseSize(path: string): DatabaseSize {
  const bytes = (file: string) => statSync(file, { throwIfNoEntry: false })?.size ?? 0;
  return { main: bytes(path), wal: bytes(`${path}-wal`) };
}
