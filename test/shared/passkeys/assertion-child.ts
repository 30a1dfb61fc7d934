import { readConfig } from '../../../shared/config/config.ts';
import { withTables } from '../../../shared/db/tables.ts';
import { openDatabase } from '../../../shared/db-files/open.ts';
import { createDeps } from '../../../shared/deps.ts';
import { AppError } from '../../../shared/errors.ts';
import { consumeAssertion, signInByPasskey } from '../../../shared/passkeys/assertions.ts';
import { openSessionsFile } from '../../../shared/sessions-file/sessions-file.ts';

// A separate process that sends an assertion. Its arguments are the database and, as JSON, the assertion with the admin
// and the decision that it is for, or only the assertion for a sign-in. It reports that it is ready, begins at the next
// line of input, and prints the result.

const config = readConfig({ DATABASE_PATH: process.argv[2] ?? '', PUBLIC_URL: 'https://api.example.org' });
const deps = createDeps(withTables(openDatabase(config.databasePath, 'use')), config);
const access = { ...deps, sessions: openSessionsFile(config.databasePath) };

const { admin, sent, decision } = JSON.parse(process.argv[3] ?? '');
const say = (text: string) => process.stdout.write(`${text}\n`);

say('ready');
for await (const _ of console) {
  try {
    if (decision === undefined) {
      const { session } = await signInByPasskey(access, sent, { address: '192.0.2.7', agent: 'A browser' });
      say(session.signed.kind === 'admin' ? session.signed.name : '');
    } else say(JSON.stringify((await consumeAssertion(access, admin, sent, [decision])).people[0]));
  } catch (error) {
    say(error instanceof AppError ? error.code : String(error));
  }
  break;
}
