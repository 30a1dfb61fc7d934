import { systemClock } from '../../../shared/clock.ts';
import { withTables } from '../../../shared/db/tables.ts';
import { createDeps } from '../../../shared/deps.ts';
import { AppError } from '../../../shared/errors.ts';
import { openDatabase } from '../../../shared/files/open.ts';
import { openSessionsFile, writeSessions } from '../../../shared/sessions-file/sessions-file.ts';
import { type CodeRequest, type Entry, enterCode, requestCode } from '../../../shared/sign-in/codes.ts';
import { enterHandOver } from '../../../shared/sign-in/hand-over.ts';
import { useTicket } from '../../../shared/tickets/tickets.ts';
import { testConfig } from '../world.ts';
import { CLIENT } from './access.ts';
import { type Act, keyIn } from './sign-in-acts.ts';

// A process on the database that its argument names. It performs the act of each line (`sign-in-acts.ts`) as soon as
// it reads it, and prints the result as JSON; false if it was refused.

const config = testConfig({ DATABASE_PATH: process.argv[2] ?? '' });
const deps = createDeps(withTables(openDatabase(config.databasePath, 'use')), config);
const access = { ...deps, sessions: openSessionsFile(config.databasePath) };

const ACTS: { [Name in keyof Act]: (given: Act[Name]) => unknown } = {
  use: (key) =>
    writeSessions(access.sessions, (sessionsDb) => useTicket(sessionsDb, keyIn(key), access.clock.nowMs())) !== null,
  enter: (entry: Entry) => enterCode(access, entry).isSignedIn,
  'hand over': (secret) => enterHandOver(access, secret, null, CLIENT) !== null,
  ask: ({ atMs, ...ask }: CodeRequest & { atMs: number }) => {
    const clock = { ...systemClock, nowMs: () => atMs };
    return requestCode({ ...access, clock }, ask).browserSecret;
  },
};

process.stdout.write('ready\n');
for await (const line of console) {
  const [name, given] = JSON.parse(line) as [keyof Act, never];
  let done: unknown = false;
  try {
    done = ACTS[name](given);
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
  }
  process.stdout.write(`${JSON.stringify(done)}\n`);
}
