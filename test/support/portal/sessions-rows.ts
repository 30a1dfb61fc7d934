import type { Sqlite } from '../../../shared/db/connect.ts';
import type { Purpose } from '../../../shared/sessions-file/schema.ts';

// Reads the rows of a sessions file. Each function takes the open file, or a connection to it.

type File = { sqlite: Sqlite } | Sqlite;

const connectionOf = (file: File) => ('sqlite' in file ? file.sqlite : file);

function count(file: File, where: string, values: readonly string[]): number {
  const found = connectionOf(file).query<{ n: number }, string[]>(`SELECT count(*) AS n FROM ${where}`);
  return found.get(...values)?.n ?? 0;
}

/** The number of tickets for a purpose, including used and expired ones. */
export function countTickets(file: File, purpose: Purpose): number {
  return count(file, 'tickets WHERE purpose = ?', [purpose]);
}

/** The number of sign-ins, including ended ones. */
export function countSignInRows(file: File): number {
  return count(file, 'sign_ins', []);
}

/** The number of sign-ins that have not ended. */
export function countUnended(file: File): number {
  return count(file, 'sign_ins WHERE ended_at IS NULL', []);
}

/** All rows that decisions have left, as text. */
export function decisionRows(file: File): string {
  return JSON.stringify(connectionOf(file).query("SELECT * FROM tickets WHERE purpose = 'decision'").all());
}
