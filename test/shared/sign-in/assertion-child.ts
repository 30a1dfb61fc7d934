import { AppError } from '../../../shared/errors.ts';
import { signInByPasskey } from '../../../shared/sign-in/passkeys.ts';
import { readSignIn } from '../../../shared/sign-in/sessions.ts';
import { CLIENT } from '../../support/people.ts';
import { depsBeside, testConfig } from '../../support/world.ts';

// A separate process that sends assertions to the database of its argument. Each line of input is JSON with
// an assertion for a sign-in. The process reports that it is ready, and prints each result.

const access = depsBeside(testConfig({ DATABASE_PATH: process.argv[2] ?? '', PUBLIC_URL: 'https://api.example.org' }));
access.db.$client.run('PRAGMA busy_timeout = 10000');

const say = (text: string) => process.stdout.write(`${text}\n`);

say('ready');
for await (const line of console) {
  const { sent } = JSON.parse(line);
  try {
    const token = await signInByPasskey(access, sent, CLIENT);
    say(readSignIn(access, token)?.name ?? '');
  } catch (error) {
    say(error instanceof AppError ? error.code : String(error));
  }
}
