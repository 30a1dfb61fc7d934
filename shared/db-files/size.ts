import { statSync } from 'node:fs';

/** The bytes on the disk of a database's main file, and of its write-ahead log. */
export type DatabaseSize = { main: number; wal: number };

/** Reads the sizes of a database's files; a missing file counts as 0 bytes. */
export function databaseSize(path: string): DatabaseSize {
  const bytes = (file: string) => statSync(file, { throwIfNoEntry: false })?.size ?? 0;
  return { main: bytes(path), wal: bytes(`${path}-wal`) };
}
