import { Command } from 'commander';
import manifest from '../package.json' with { type: 'json' };
import { addDemo } from './demo.ts';
import { addApprove } from './keys/approve.ts';
import { addCheck } from './keys/check.ts';
import { addEdit } from './keys/edit.ts';
import { addList } from './keys/list.ts';
import { addReject } from './keys/reject.ts';
import { addRequest } from './keys/request.ts';
import { addRevoke } from './keys/revoke.ts';
import { addShow } from './keys/show.ts';
import { addWithdraw } from './keys/withdraw.ts';
import { addErase } from './profiles/erase.ts';
import { addExport } from './profiles/export.ts';
import { addImport } from './profiles/import.ts';
import { addShow as addShowProfile } from './profiles/show.ts';
import { addServe } from './serve.ts';

/**
 * The whole command tree. Nothing is printed or exited here: usage errors are thrown as `CommanderError`, everything
 * else as `AppError`, and `main.ts` turns both into an exit code.
 */
export function createProgram(): Command {
  const program = new Command('profilectl')
    .description('Opens public profiles to other programs: keys, profiles, and the server that answers.')
    .version(manifest.version)
    .option('--json', 'print results and errors as JSON')
    .option('--yes', 'take defaults and ask nothing')
    .option('--db <path>', 'the database file, instead of DATABASE_PATH')
    .option('--env-file <path>', 'read variables from a file; the environment wins')
    .configureHelp({ showGlobalOptions: true })
    .configureOutput({ writeErr: () => {} })
    .exitOverride()
    .addHelpText(
      'after',
      `
Exit codes: 0 done, 1 refused or failed, 2 usage, 75 try again later, 130 cancelled.

Examples:
  profilectl demo
  profilectl profiles import profiles.jsonl
  profilectl keys list --state pending
  profilectl keys approve k7Qm2XaB`,
    );

  const keys = program.command('keys').description('Request, decide on and look at API keys.');
  for (const add of [addRequest, addList, addShow, addEdit, addWithdraw, addApprove, addReject, addRevoke, addCheck]) {
    add(keys);
  }
  const profiles = program.command('profiles').description('Bring profiles in, out and to an end.');
  for (const add of [addImport, addExport, addShowProfile, addErase]) add(profiles);
  addServe(program);
  addDemo(program);
  return program;
}
