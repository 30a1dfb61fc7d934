import first from '../../drizzle/sessions/0000_first.sql' with { type: 'text' };
import type { Migration } from '../db/migrations.ts';

/** All migrations of the sessions file in order. Never edit one after release: each file stores their checksums. */
export const SESSIONS_MIGRATIONS: readonly Migration[] = [
  {
    name: '0000_first',
    sql: first,
    replaces: {
      firsts: ['78e002b964384fbe34addaeb11e11d7269272fe5f83c688b6e897b1304cf9536'],
      all: 'dcfd348a772a84191caf932f1d0c6b06cf8e575a9d662b35ddd7573013b7efa1',
    },
  },
];
