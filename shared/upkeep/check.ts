import { beginSnapshot, type Opened, type Sqlite } from '../db/connect.ts';
import { MIGRATIONS, schemaVersion } from '../db/migrate.ts';
import { compareSchema, type SchemaDifference } from '../db-files/schema-objects.ts';
import { countRows, damages } from '../db-files/snapshot.ts';
import { profileFaults } from '../profiles/check.ts';
import { sessionsFaults } from '../sessions-file/sessions-file.ts';

/**
 * The result of a check. Each fault is a clause without private data; after the first 1000, one more says how many were
 * omitted.
 */
export type Checked = { faults: string[]; profiles: number; keys: number };

/** The steps of a check, for progress messages. */
export type CheckStep = 'file' | 'schema' | 'profiles';

const MAX_FAULTS = 1_000;

/**
 * Checks the file (pages, indexes, CHECK constraints, foreign keys), the sessions file beside it, the schema, and the
 * rules for profiles that the schema can't enforce. Everything is read from one snapshot, so others may write in the
 * meantime. Profiles are checked only if the schema is the newest.
 */
export function checkDatabase(db: Opened, onStep: (step: CheckStep) => void = () => {}): Checked {
  const sqlite = db.$client;
  using _ = beginSnapshot(sqlite);
  return check(sqlite, onStep);
}

function check(sqlite: Sqlite, onStep: (step: CheckStep) => void): Checked {
  const faults: string[] = [];
  let unlisted = 0;
  const add = (found: Iterable<string>): void => {
    for (const fault of found) {
      if (faults.length < MAX_FAULTS) faults.push(fault);
      else unlisted++;
    }
  };
  onStep('file');
  add(guarded(() => damages(sqlite)));
  const isDatabaseSound = faults.length === 0;
  add(sessionsFaults(sqlite.filename));
  onStep('schema');
  const isCurrent = schemaVersion(sqlite) === MIGRATIONS.length;
  const schema = [...guarded(() => schemaFaults(sqlite))];
  add(schema);
  const isReadable = isCurrent && isDatabaseSound && schema.length === 0;
  onStep('profiles');
  add(guarded(() => (isCurrent ? profileFaults(sqlite) : [])));
  if (unlisted > 0) faults.push(`and ${unlisted} more`);
  return { faults, ...(isReadable ? countRows(sqlite) : { profiles: 0, keys: 0 }) };
}

/** Yields the faults that `find` returns. An SQLite error counts as a fault, and ends this part of the check. */
function* guarded(find: () => Iterable<string>): Generator<string> {
  try {
    yield* find();
  } catch (error) {
    const { code } = error as { code?: unknown };
    if (typeof code !== 'string' || !code.startsWith('SQLITE_')) throw error;
    yield `a part of the file can't be read (${code})`;
  }
}

const DIFFERENCES = {
  missing: 'is missing',
  foreign: 'does not belong to Profile Lookup',
  changed: 'differs from its migration',
} satisfies Record<SchemaDifference['how'], string>;

function schemaFaults(sqlite: Sqlite): string[] {
  return compareSchema(sqlite).map(({ type, name, how }) => `the ${type} ${name} ${DIFFERENCES[how]}`);
}
