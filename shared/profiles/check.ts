import type { Sqlite } from '../db/connect.ts';
import { parseLine } from './edit/line.ts';
import { foldName } from './name.ts';
import { createProfileReader, lineOf, readAll, type StoredName } from './record.ts';

/**
 * Finds faults in stored profiles that the schema can't prevent: names that are out of order or not folded, and
 * everything that an import would refuse in the profile's own export line. Yields one clause for each fault.
 */
export function* profileFaults(sqlite: Sqlite): Generator<string> {
  const reader = createProfileReader(sqlite);
  for (const profile of readAll(sqlite)) {
    const { id } = profile.parts;
    const names = reader.names(id);
    for (const fault of nameFaults(reader.row(id)?.username, names)) yield `profile ${id}: ${fault}`;
    const parsed = parseLine(lineOf(profile), false);
    if ('reason' in parsed) yield `profile ${id}: an import would refuse it: ${parsed.reason}`;
  }
}

function nameFaults(username: string | undefined, names: readonly StoredName[]): string[] {
  const faults: string[] = [];
  if (names[0]?.position !== 0 || names[0].name !== username) faults.push('the first of its names is not its username');
  if (names.some(({ position }, index) => position !== index)) faults.push('its names are not numbered consecutively');
  if (names.some(({ name, folded }) => foldName(name) !== folded)) {
    faults.push('one of its names is stored under a wrong folded form');
  }
  return faults;
}
