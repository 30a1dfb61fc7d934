import type { Actor } from '../../shared/actor.ts';
import type { Db } from '../../shared/db/connect.ts';
import { write } from '../../shared/db/write.ts';
import type { Deps } from '../../shared/deps.ts';
import { eraseProfile as eraseById } from '../../shared/erasure/erase.ts';
import { openDatabase } from '../../shared/files/open.ts';
import { createApplier, noRemarks } from '../../shared/profiles/apply.ts';
import { exportProfiles } from '../../shared/profiles/export.ts';
import type { Line } from '../../shared/profiles/fields.ts';
import { findProfile, readProfile } from '../../shared/profiles/find.ts';
import { type ImportOptions, importProfiles } from '../../shared/profiles/import/import.ts';
import { MAIL_CONFIG } from './mail.ts';
import { onBox } from './world.ts';

/** Inserts a profile, with defaults for the fields that are not given, but an address; returns its id. */
export function insertProfile(db: Db, fields: Partial<Line> = {}): number {
  const id = fields.id ?? 1;
  const line = {
    createdAt: '2024-05-01T00:00:00.000Z',
    email: `owner${id}@example.org`,
    username: `user${id}`,
    ...fields,
  };
  const options = { merge: false, by: onBox('operator'), config: MAIL_CONFIG, asOfMs: null, confirms: false };
  const applier = createApplier(db.$client, options);
  const put = () => write(db, (tx) => applier.apply(tx, { id, fields: { ...line, id }, dropped: [] }, 0, noRemarks()));
  const outcome = put();
  if (outcome !== 'imported') throw new Error(`the profile ${id} was not inserted: ${JSON.stringify(outcome)}`);
  return id;
}

/** The usernames in the database of this file, in the order of their ids. Closes the file, so that a command may replace it. */
export function usernamesIn(path: string): string[] {
  const { $client } = openDatabase(path, 'use');
  const rows = $client.query('SELECT username FROM profiles ORDER BY id').all() as { username: string }[];
  $client.close();
  return rows.map(({ username }) => username);
}

/** Changes profiles by SQL. */
export function changeBySql(db: Db, sql: string, values: (number | string)[] = []): void {
  write(db, () => void db.$client.run(sql, values));
}

/** JSON Lines of these objects; strings are included unchanged. */
export function jsonLines(...lines: readonly (object | string)[]): string {
  return lines.map((line) => `${typeof line === 'string' ? line : JSON.stringify(line)}\n`).join('');
}

/** Imports these lines, by default non-strict and replacing. */
export function importLines(
  deps: Pick<Deps, 'db' | 'clock'>,
  lines: readonly (object | string)[],
  options: Partial<ImportOptions> = {},
) {
  const source = [Buffer.from(jsonLines(...lines))];
  return importProfiles(deps, source, {
    merge: false,
    strict: false,
    by: onBox('operator'),
    config: MAIL_CONFIG,
    ...options,
  });
}

/** Changes fields of a profile in one transaction, as an operator's merging line does. */
export function changeByHand(deps: Deps, username: string, changes: Omit<Line, 'id'>): void {
  const by = onBox('operator');
  const applier = createApplier(deps.db.$client, {
    merge: true,
    by,
    config: MAIL_CONFIG,
    asOfMs: null,
    confirms: true,
  });
  const { id } = findProfile(deps.db, username);
  const line = { id, fields: { id, ...changes }, dropped: [] };
  const outcome = write(deps.db, (tx) => {
    // It may have been erased meanwhile.
    readProfile(tx, id);
    return applier.apply(tx, line, deps.clock.nowMs(), noRemarks());
  });
  if (outcome !== 'imported') throw new Error(JSON.stringify(outcome));
}

/** The whole export as text. */
export async function exportText({ db }: Pick<Deps, 'db'>): Promise<string> {
  let text = '';
  await exportProfiles(db, (chunk) => {
    text += chunk;
  });
  return text;
}

/** Username and aliases of every profile, by id. */
export async function namesById(deps: Pick<Deps, 'db'>): Promise<Record<number, string[]>> {
  const profiles = (await exportText(deps)).split('\n').filter(Boolean);
  return Object.fromEntries(
    profiles.map((line) => {
      const { id, username, aliases } = JSON.parse(line);
      return [id, [username, ...aliases]];
    }),
  );
}

/** Erases the profile with this name, as `profiles erase` does. */
export function eraseProfile(deps: Pick<Deps, 'db' | 'clock'>, username: string, by: Actor) {
  return eraseById(deps, findProfile(deps.db, username).id, by);
}
