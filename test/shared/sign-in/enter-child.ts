import { withTables } from '../../../shared/db/tables.ts';
import { openDatabase } from '../../../shared/db-files/open.ts';
import { createDeps } from '../../../shared/deps.ts';
import { openSessionsFile } from '../../../shared/sessions-file/sessions-file.ts';
import { enterCode } from '../../../shared/sign-in/codes.ts';
import { CLIENT } from '../../support/portal/access.ts';
import { testConfig } from '../../support/world.ts';

// Run by codes-model.test.ts: enters the codes that it is sent, each as soon as it comes, and prints whether it signed in.

const config = testConfig({ DATABASE_PATH: process.argv[2] ?? '' });
const db = withTables(openDatabase(config.databasePath, 'use'));
const access = { ...createDeps(db, config), sessions: openSessionsFile(config.databasePath) };
process.stdout.write('ready\n');
for await (const line of console) {
  const [browserSecret = '', code = ''] = line.split(' ');
  const { isSignedIn } = enterCode(access, { browserSecret, code, knownBrowser: null, client: CLIENT });
  process.stdout.write(`${isSignedIn}\n`);
}
