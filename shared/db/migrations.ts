import first from '../../drizzle/main/0000_first.sql' with { type: 'text' };
import serviceEvents from '../../drizzle/main/0001_service_events.sql' with { type: 'text' };

/** A step of the schema: its number is its place, from 1. */
export type Migration = { name: string; sql: string; replaces?: ReplacedList };

/**
 * The list of migrations that a first migration has taken the place of, and that made the same schema: the SHA-256 of the
 * first of them, and the one of the lines `<name> <SHA-256>` of all of them.
 */
export type ReplacedList = { first: string; all: string };

/** The last commit whose databases have such a list: its program brings those of earlier commits to the end of the list. */
export const LAST_UNRELEASED_COMMIT = '9b73f3f';

/** Every migration in order. Never edited after release: their checksums stand in each database. */
export const MIGRATIONS: readonly Migration[] = [
  {
    name: '0000_first',
    sql: first,
    replaces: {
      first: '4334cc5fbc7379b4a85e9605f1e8917bdb1a645770f69f5bddcb70bf0ff468f1',
      all: '009594cb11ca85747a0b83e5888a1e3985fdad779381864b6bfffeda9a0502a5',
    },
  },
  { name: '0001_service_events', sql: serviceEvents },
];
