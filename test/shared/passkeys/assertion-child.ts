import { readConfig } from '../../../shared/config/config.ts';
import { withTables } from '../../../shared/db/tables.ts';
import { createDeps } from '../../../shared/deps.ts';
import { AppError } from '../../../shared/errors.ts';
import { openDatabase } from '../../../shared/files/open.ts';
import { signInByPasskey } from '../../../shared/passkeys/assertions.ts';
import { openSessionsFile } from '../../../shared/sessions-file/sessions-file.ts';

// A separate process that sends assertions to the database of its argument. Each line of input is JSON with
// an assertion for a sign-in. The process reports that it is ready, and prints each result.

const config = readConfig({ DATABASE_PATH: process.argv[2] ?? '', PUBLIC_URL: 'https://api.example.org' });
const deps = createDeps(withTables(openDatabase(config.databasePath, 'use')), config);
const access = { ...deps, sessions: openSessionsFile(config.databasePath) };

const say = (text: string) => process.stdout.write(`${text}\n`);

say('ready');
for await (const line of console) {
  const { sent } = JSON.parse(line);
  try {
    const { session } = await signInByPasskey(access, sent, { address: '192.0.2.7', agent: 'A browser' });
    say(session.signed.kind === 'admin' ? session.signed.name : '');
  } catch (error) {
    say(error instanceof AppError ? error.code : String(error));
  }
}
