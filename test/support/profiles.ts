import type { Actor } from '../../shared/actor.ts';
import type { Db } from '../../shared/db/connect.ts';
import { write } from '../../shared/db/write.ts';
import type { Deps } from '../../shared/deps.ts';
import { eraseProfile as eraseById } from '../../shared/erasure.ts';
import { openDatabase } from '../../shared/files/open.ts';
import { createApplier, noRemarks } from '../../shared/profiles/apply.ts';
import { exportProfiles } from '../../shared/profiles/export.ts';
import type { Line } from '../../shared/profiles/fields.ts';
import { findProfile, readProfile } from '../../shared/profiles/find.ts';
import { type ImportOptions, importProfiles } from '../../shared/profiles/import/import.ts';
import { MAIL_CONFIG } from './mail.ts';
import { onBox } from './world.ts';

/** The usual options of an import: non-strict and replacing. */
export const IMPORT_OPTIONS = { merge: false, strict: false, by: onBox('operator'), config: MAIL_CONFIG };

/** Applies a line of an operator, which merges with the stored profile or replaces it. */
function applyLine(db: Db, line: Line & { id: number }, merge: boolean, nowMs: number): void {
  const options = { ...IMPORT_OPTIONS, merge, asOfMs: null, confirms: merge };
  const applier = createApplier(db.$client, options);
  const outcome = write(db, (tx) => {
    // It may have been erased meanwhile.
    if (merge) readProfile(tx, line.id);
    return applier.apply(tx, { id: line.id, fields: line, dropped: [] }, nowMs, noRemarks());
  });
  if (outcome !== 'imported') throw new Error(`the profile ${line.id} was not stored: ${JSON.stringify(outcome)}`);
}

/** Inserts a profile, with defaults for the fields that are not given, but an address; returns its id. */
export function insertProfile(db: Db, fields: Partial<Line> = {}): number {
  const id = fields.id ?? 1;
  const usual = { createdAt: '2024-05-01T00:00:00.000Z', email: `owner${id}@example.org`, username: `user${id}` };
  applyLine(db, { ...usual, ...fields, id }, false, 0);
  return id;
}

/** Changes fields of a profile in one transaction, as an operator's merging line does. */
export function changeByHand(deps: Deps, username: string, changes: Omit<Line, 'id'>): void {
  applyLine(deps.db, { ...changes, id: findProfile(deps.db, username).id }, true, deps.clock.nowMs());
}

/** The usernames in the database of this file, in the order of their ids. Closes the file, so that a command may replace it. */
export function usernamesIn(path: string): string[] {
  const { $client } = openDatabase(path, 'use');
  const names = $client.query('SELECT username FROM profiles ORDER BY id').values().flat() as string[];
  $client.close();
  return names;
}

type Lines = readonly (object | string)[];

/** JSON Lines of these objects; strings are included unchanged. */
export function jsonLines(...lines: Lines): string {
  return lines.map((line) => `${typeof line === 'string' ? line : JSON.stringify(line)}\n`).join('');
}

/** Imports these lines, by default with the usual options. */
export function importLines(deps: Pick<Deps, 'db' | 'clock'>, lines: Lines, options: Partial<ImportOptions> = {}) {
  return importProfiles(deps, [Buffer.from(jsonLines(...lines))], { ...IMPORT_OPTIONS, ...options });
}

/** The whole export as text. */
export async function exportText({ db }: Pick<Deps, 'db'>): Promise<string> {
  const chunks: string[] = [];
  await exportProfiles(db, (chunk) => void chunks.push(chunk));
  return chunks.join('');
}

/** Username and aliases of every profile, by id. */
export async function namesById(deps: Pick<Deps, 'db'>): Promise<Record<number, string[]>> {
  const profiles = Bun.JSONL.parse(await exportText(deps)) as { id: number; username: string; aliases: string[] }[];
  return Object.fromEntries(profiles.map(({ id, username, aliases }) => [id, [username, ...aliases]]));
}

/** Erases the profile with this name, as `profiles erase` does. */
export function eraseProfile(deps: Pick<Deps, 'db' | 'clock'>, username: string, by: Actor) {
  return eraseById(deps, findProfile(deps.db, username).id, by);
}
