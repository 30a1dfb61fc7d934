import { Command, CommanderError } from 'commander';
import { versionText } from '../shared/version.ts';
import { addCompletion } from './completion.ts';
import { addCheck as addCheckConfig } from './config/check.ts';
import { addBackup } from './db/backup.ts';
import { addCheck as addCheckDatabase } from './db/check.ts';
import { addRestore } from './db/restore.ts';
import { addDemo } from './demo.ts';
import { addHealthcheck } from './healthcheck.ts';
import { addApprove } from './keys/approve.ts';
import { addCheck } from './keys/check.ts';
import { addEdit } from './keys/edit.ts';
import { addList } from './keys/list.ts';
import { addReject } from './keys/reject.ts';
import { addRequest } from './keys/request.ts';
import { addRevoke } from './keys/revoke.ts';
import { addShow } from './keys/show.ts';
import { addUsage } from './keys/usage.ts';
import { addWithdraw } from './keys/withdraw.ts';
import { addTest } from './mail/test.ts';
import { print } from './output.ts';
import { addBan, addUnban } from './profiles/ban.ts';
import { addErase } from './profiles/erase.ts';
import { addExport } from './profiles/export.ts';
import { addImport } from './profiles/import.ts';
import { addLinks } from './profiles/links.ts';
import { addAlias, addRename } from './profiles/names.ts';
import { addSet } from './profiles/set.ts';
import { addShow as addShowProfile } from './profiles/show.ts';
import { addServe } from './serve.ts';
import { addStatus } from './status.ts';

/**
 * The whole command tree. Nothing is printed or exited here: usage errors are thrown as `CommanderError`, everything
 * else as `AppError`, and `main.ts` turns both into an exit code.
 */
export function createProgram(): Command {
  const program = new Command('profilectl')
    .description('Opens public profiles to other programs: keys, profiles, and the server that answers.')
    .option('-V, --version', 'print the version and the commit that it was made of')
    .on('option:version', () => {
      print(versionText());
      throw new CommanderError(0, 'commander.version', '');
    })
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
  for (const add of [
    addRequest,
    addList,
    addShow,
    addUsage,
    addEdit,
    addWithdraw,
    addApprove,
    addReject,
    addRevoke,
    addCheck,
  ]) {
    add(keys);
  }
  const profiles = program.command('profiles').description('Bring profiles in and out, change and erase them.');
  for (const add of [addImport, addExport, addShowProfile, addSet, addRename, addAlias, addLinks]) add(profiles);
  for (const add of [addBan, addUnban, addErase]) add(profiles);
  const db = program.command('db').description('Back up, restore and check the database.');
  for (const add of [addBackup, addRestore, addCheckDatabase]) add(db);
  addCheckConfig(program.command('config').description('Look at the configuration.'));
  addTest(program.command('mail').description('Try the way that mail takes.'));
  addServe(program);
  addStatus(program);
  addHealthcheck(program);
  addDemo(program);
  addCompletion(program);
  return program;
}
