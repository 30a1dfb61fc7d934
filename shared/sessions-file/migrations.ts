import first from '../../drizzle/sessions/0000_first.sql' with { type: 'text' };
import ticketsAndSignIns from '../../drizzle/sessions/0001_tickets_and_sign_ins.sql' with { type: 'text' };
import type { Migration } from '../db/migrations.ts';

/** Every migration of the sessions file in order. Never edited after release: their checksums stand in each file. */
export const SESSIONS_MIGRATIONS: readonly Migration[] = [
  { name: '0000_first', sql: first },
  { name: '0001_tickets_and_sign_ins', sql: ticketsAndSignIns },
];
