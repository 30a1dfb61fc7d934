import { askDecision } from '../../../shared/access/cli-decisions.ts';
import { openSessionsFile } from '../../../shared/access/sessions-file.ts';
import { openDatabase } from '../../../shared/db/open.ts';
import { withTables } from '../../../shared/db/tables.ts';
import { createDeps } from '../../../shared/deps.ts';
import { AppError } from '../../../shared/errors.ts';
import { testConfig } from '../../support/world.ts';

// Run by cli-decisions.test.ts: asks for the decisions that it is sent, each as soon as it comes, and prints whether it was
// the one that may take it.

const config = testConfig({ DATABASE_PATH: process.argv[2] ?? '' });
const db = withTables(openDatabase(config.databasePath, 'use'));
const access = { ...createDeps(db, config), sessions: openSessionsFile(config.databasePath) };

function ask(line: string): string {
  const { token, decision } = JSON.parse(line);
  try {
    return askDecision(access, token, decision, '192.0.2.7').person === null ? 'asked' : 'taken';
  } catch (error) {
    return error instanceof AppError ? error.code : String(error);
  }
}

process.stdout.write('ready\n');
for await (const line of console) process.stdout.write(`${ask(line)}\n`);
