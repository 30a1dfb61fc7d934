import { addAdmin } from '../../../shared/admins.ts';
import { AppError } from '../../../shared/errors.ts';
import { enterCode } from '../../../shared/sign-in/codes.ts';
import { enterHandOver } from '../../../shared/sign-in/hand-over.ts';
import { CLIENT } from '../../support/people.ts';
import { depsBeside, onBox, testConfig } from '../../support/world.ts';
import type { Act } from './sign-in-acts.ts';

// A process on the database that its argument names. It performs the act of each line (`sign-in-acts.ts`) as soon as
// it reads it, and prints whether it succeeded.

const deps = depsBeside(testConfig({ DATABASE_PATH: process.argv[2] ?? '', PUBLIC_URL: 'https://api.example.org' }));
deps.db.$client.run('PRAGMA busy_timeout = 10000');

const ACTS: { [Name in keyof Act]: (given: Act[Name]) => boolean } = {
  enter: (entry) => enterCode(deps, entry).isSignedIn,
  'hand over': (secret) => enterHandOver(deps, secret, CLIENT) !== '',
  invite: (name) => addAdmin(deps, name, onBox('root')).address !== '',
};

process.stdout.write('ready\n');
for await (const line of console) {
  const [name, given] = JSON.parse(line) as [keyof Act, never];
  let done = false;
  try {
    done = ACTS[name](given);
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
  }
  process.stdout.write(`${JSON.stringify(done)}\n`);
}
