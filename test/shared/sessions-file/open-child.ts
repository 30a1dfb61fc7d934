import { closeSessionsFile, openSessionsFile } from '../../../shared/sessions-file/sessions-file.ts';

// Run by migrations.test.ts: opens the sessions file beside a database, and prints how many mails it has counted.

process.stdout.write('ready\n');
for await (const _line of console) {
  const file = openSessionsFile(process.argv[2] ?? '');
  const counted = file.sqlite.query<{ n: number }, []>('SELECT count(*) AS n FROM mail_counts').get();
  process.stdout.write(`${counted?.n}\n`);
  closeSessionsFile(file);
}
