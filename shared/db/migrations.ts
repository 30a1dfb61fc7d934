import first from '../../drizzle/main/0000_first.sql' with { type: 'text' };

/** A step of the schema. Migrations are numbered from 1 by their position. */
export type Migration = { name: string; sql: string; replaces?: ReplacedList };

/**
 * The list of migrations from before version 0.1.0 that the first migration replaces; both make the same schema. `all`
 * is the SHA-256 of its lines `<name> <SHA-256>`. `firsts` are the SHA-256 of the first migration in this list and in
 * earlier ones.
 */
export type ReplacedList = { firsts: readonly string[]; all: string };

/** The last commit whose databases have such a list. Its program upgrades databases of earlier commits. */
export const LAST_UNRELEASED_COMMIT = '8872805';

/** All migrations in order. Never edit one after release: each database contains their checksums. */
export const MIGRATIONS: readonly Migration[] = [
  {
    name: '0000_first',
    sql: first,
    replaces: {
      firsts: [
        '65d175f152176c76704b86557e0d7a6ebe3e53468adcf3a4583353301e58bbe0',
        '4334cc5fbc7379b4a85e9605f1e8917bdb1a645770f69f5bddcb70bf0ff468f1',
      ],
      all: 'c968650426dd796b9244d7c16028fd147f3041cc1f6523d3355fdad38b2ff2ea',
    },
  },
];
