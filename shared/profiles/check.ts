import type { Sqlite } from '../db/open.ts';
import { parseLine } from './line.ts';
import { foldName } from './name.ts';
import { createProfileReader, lineOf, readAll, type StoredName, type StoredProfile } from './record.ts';

/**
 * What is wrong with stored profiles beyond what the schema forbids, a clause a fault: names that are not in order or not
 * folded as they are compared, and whatever an import would refuse in the profile's own line.
 */
export function* profileFaults(sqlite: Sqlite): Generator<string> {
  const reader = createProfileReader(sqlite);
  for (const profile of readAll(sqlite)) {
    const { row } = profile;
    const names = reader.names(row.id);
    for (const fault of nameFaults(row, names)) yield `profile ${row.id}: ${fault}`;
    const parsed = parseLine(lineOf(profile), false);
    if ('reason' in parsed) yield `profile ${row.id}: an import would refuse it: ${parsed.reason}`;
  }
}

function nameFaults(row: StoredProfile, names: readonly StoredName[]): string[] {
  const faults: string[] = [];
  if (names[0]?.position !== 0 || names[0].name !== row.username) faults.push('its first name is not its username');
  if (names.some(({ position }, index) => position !== index)) faults.push('its names are not numbered in a row');
  if (names.some(({ name, folded }) => foldName(name) !== folded)) {
    faults.push('a name of it is stored under another folded form than it has');
  }
  return faults;
}
