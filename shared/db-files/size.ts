import { statSync } from 'node:fs';

/** The sizes in bytes of a database's main file and of its write-ahead log; 0 for a missing file. */
export function databaseSize(path: string) {
  const bytes = (file: string) => statSync(file, { throwIfNoEntry: false })?.size ?? 0;
  return { main: bytes(path), wal: bytes(`${path}-wal`) };
}
