import { join } from 'node:path';

// Run by migrations.test.ts: opens the sessions file beside a database with the program in a folder, and prints its
// contents.

const [, , databasePath = '', folder = ''] = process.argv;
const { closeSessionsFile, openSessionsFile } = (await import(
  join(folder, 'shared/sessions-file/sessions-file.ts')
)) as typeof import('../../../shared/sessions-file/sessions-file.ts');

process.stdout.write('ready\n');
for await (const _line of console) {
  const file = openSessionsFile(databasePath);
  const count = (table: string) => file.sqlite.query<{ n: number }, []>(`SELECT count(*) AS n FROM ${table}`).get()?.n;
  const { user_version } = file.sqlite.query('PRAGMA user_version').get() as { user_version: number };
  process.stdout.write(`${count('mail_counts')} mail, ${user_version} migrations\n`);
  closeSessionsFile(file);
}
