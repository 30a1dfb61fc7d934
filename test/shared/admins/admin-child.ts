import { addAdmin, inviteAdmin } from '../../../shared/admins/admins.ts';
import { readConfig } from '../../../shared/config/config.ts';
import { withTables } from '../../../shared/db/tables.ts';
import { createDeps } from '../../../shared/deps.ts';
import { AppError } from '../../../shared/errors.ts';
import { openDatabase } from '../../../shared/files/open.ts';
import { openSessionsFile } from '../../../shared/sessions-file/sessions-file.ts';
import { onBox } from '../../support/actors.ts';
import { notedRandom } from '../../support/secret-search.ts';

// Run by admins.test.ts: adds or invites the admins that it receives, each at once, and prints the URL or the code of
// the refusal.

const config = readConfig({ DATABASE_PATH: process.argv[2] ?? '', PUBLIC_URL: 'https://api.example.org' });
const deps = createDeps(withTables(openDatabase(config.databasePath, 'use')), config);
const access = { ...deps, random: notedRandom, sessions: openSessionsFile(config.databasePath) };

process.stdout.write('ready\n');
for await (const line of console) {
  const [verb, name = ''] = line.split(' ');
  try {
    const by = onBox('root');
    const made =
      verb === 'add' ? addAdmin(access, name, by) : inviteAdmin(access, name, { keepPasskeys: verb === 'keep' }, by);
    process.stdout.write(`${made.address}\n`);
  } catch (error) {
    process.stdout.write(`${error instanceof AppError ? error.code : error}\n`);
  }
}
