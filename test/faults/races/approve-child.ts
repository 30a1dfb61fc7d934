import { createDeps } from '../../../shared/deps.ts';
import { AppError } from '../../../shared/errors.ts';
import { openDatabase } from '../../../shared/files/open.ts';
import { approveKey } from '../../support/keys.ts';
import { onBox, testConfig } from '../../support/world.ts';

// Approves each key as soon as it reads its identifier, and prints how that ended.

const DATABASE_PATH = process.argv[2] ?? '';
const config = testConfig({ DATABASE_PATH, MAIL_URL: `file:${DATABASE_PATH}.mail` });
const deps = createDeps(openDatabase(DATABASE_PATH, 'use'), config);

async function approve(identifier: string): Promise<string> {
  try {
    await approveKey(deps, { identifier, grant: {}, by: onBox(`admin${process.pid}`) });
    return 'Active';
  } catch (error) {
    return error instanceof AppError ? error.code : String(error);
  }
}

process.stdout.write('ready\n');
for await (const line of console) process.stdout.write(`${await approve(line)}\n`);
