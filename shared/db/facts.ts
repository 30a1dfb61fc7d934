import type { Sqlite } from './connect.ts';

/** Single facts that belong to the database. */
type FactName = 'vacuum wanted' | 'last backup' | 'last import' | 'last feed' | 'sign-in mails held back at';

/** Reads a fact; null if it is not stored. */
export function readFact(sqlite: Sqlite, name: FactName): string | null {
  const row = sqlite.query<{ value: string }, [string]>('SELECT value FROM facts WHERE name = ?').get(name);
  return row?.value ?? null;
}

/** Stores a fact inside the caller's transaction. */
export function storeFact(sqlite: Sqlite, name: FactName, value: string): void {
  sqlite
    .query('INSERT INTO facts (name, value) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value')
    .run(name, value);
}
