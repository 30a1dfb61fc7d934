import { statSync } from 'node:fs';
import { readApplicationId } from '../../db/catalog.ts';
import { openBare, type Sqlite } from '../../db/connect.ts';
import { isIntact, type LogRow, readRow, type SavedAccount } from './row.ts';
import { APPLICATION_ID, quotaPath } from './store.ts';

/** The quota file's data about some keys: their accounts, if they were used, and the file's latest time. */
export type QuotaFileData = { accounts: ReadonlyMap<string, SavedAccount>; lastTime: number };

/** How long to wait for a lock of the file, which readers hardly ever need. */
const BUSY_TIMEOUT_MS = 50;

/** Reads the quota file of a main database, even while a server writes it. Null if it is missing or can't be read. */
export function readQuotaFile(databasePath: string, identifiers: readonly string[]): QuotaFileData | null {
  try {
    const path = quotaPath(databasePath);
    // SQLite would wait for a writer if this were a pipe.
    if (!statSync(path).isFile()) return null;
    using sqlite = openBare(path, 'read');
    return look(sqlite, identifiers);
  } catch {
    return null;
  }
}

function look(sqlite: Sqlite, identifiers: readonly string[]): QuotaFileData | null {
  sqlite.run(`PRAGMA busy_timeout = ${BUSY_TIMEOUT_MS}`);
  if (readApplicationId(sqlite) !== APPLICATION_ID) return null;
  // Most rows are about other keys; SQLite does not read their stamps.
  const rows = sqlite.prepare<LogRow, [string]>('SELECT * FROM log WHERE instr(identifiers, ?) > 0 ORDER BY seq');
  const accounts = new Map<string, SavedAccount>();
  for (const identifier of identifiers) {
    for (const row of rows.iterate(identifier)) readRow(row, accounts, identifier);
  }
  return { accounts, lastTime: lastTimeOf(sqlite) };
}

function lastTimeOf(sqlite: Sqlite): number {
  for (const row of sqlite.prepare<LogRow, []>('SELECT * FROM log ORDER BY seq DESC').iterate()) {
    if (isIntact(row)) return row.time;
  }
  return 0;
}
