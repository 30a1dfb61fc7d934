import { Database } from 'bun:sqlite';
import { expect } from 'bun:test';

/** Expects that a database file is undamaged, and that no row refers to a missing one. */
export function expectSound(path: string): void {
  const sqlite = new Database(path);
  expect(sqlite.query('PRAGMA integrity_check').get()).toEqual({ integrity_check: 'ok' });
  expect(sqlite.query('PRAGMA foreign_key_check').all()).toEqual([]);
  sqlite.close();
}
